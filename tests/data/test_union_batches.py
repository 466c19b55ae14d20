"""Batches of the rows of all tasks, shuffled together."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.batches import UnionBatches
from phasefit.data.batches.contract import Draw

ROWS = {"small": np.arange(10), "large": np.arange(100, 195), "middle": np.arange(20, 53)}  # 138 rows


def batches(seed: int = 0, size: int = 8) -> UnionBatches:
    return UnionBatches(ROWS, batch_size=size, seed=seed)


def written(drawn: list[Draw]) -> list[list[list[int]]]:
    return [[draw[key].tolist() for key in ("rows", "task")] for draw in drawn]


@given(
    many=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    size=st.integers(2, 40),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 3),
)
def test_an_epoch_has_every_row_of_every_task_once(many: list[int], size: int, seed: int, epoch: int) -> None:
    rows = {str(place): 1000 * place + np.arange(count) for place, count in enumerate(many)}
    stream = UnionBatches(rows, batch_size=size, seed=seed)
    drawn = list(stream.epoch(epoch))
    assert len(drawn) == len(stream) == -(-sum(many) // size)
    assert all(len(draw["rows"]) == size for draw in drawn[:-1])
    seen = np.concatenate([draw["rows"] for draw in drawn])
    task = np.concatenate([draw["task"] for draw in drawn])
    assert sorted(seen.tolist()) == sorted(np.concatenate(list(rows.values())).tolist())
    assert (seen // 1000 == task).all()


def test_tasks_may_share_row_numbers() -> None:
    stream = UnionBatches({"one": np.arange(6), "two": np.arange(6)}, batch_size=4, seed=0)
    pairs = [
        pair for draw in stream.epoch(0) for pair in zip(draw["task"].tolist(), draw["rows"].tolist(), strict=True)
    ]
    assert sorted(pairs) == [(task, row) for task in (0, 1) for row in range(6)]


def test_an_epoch_depends_on_the_seed_and_its_number_alone() -> None:
    stream = batches()
    first, second = written(list(stream.epoch(0))), written(list(stream.epoch(1)))
    assert first != second
    assert written(list(batches().epoch(1))) == second
    assert written(list(stream.epoch(0))) == first
    assert written(list(batches(seed=1).epoch(0))) != first


def test_batches_mix_tasks_by_their_rows() -> None:
    assert batches().shares().tolist() == [10 / 138, 95 / 138, 33 / 138]
    drawn = [draw for epoch in range(20) for draw in batches(size=23).epoch(epoch)]  # 6 batches of 23
    counts = np.array([np.bincount(draw["task"], minlength=3) for draw in drawn])
    assert counts[:, 1].std() < 3.5, "hypergeometric: 1.95; batches of one task would have 10"
    assert (counts > 0).sum(axis=1).max() == 3


def test_memory_grows_with_the_rows() -> None:
    many = 200_000
    tracemalloc.start()
    stream = UnionBatches({"one": np.arange(many), "two": np.arange(many)}, batch_size=32, seed=0)
    next(iter(stream.epoch(0)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * many * 8 * 8
