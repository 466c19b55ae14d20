"""Batches of several tasks: every mix."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.batches import ShuffledBatches, TaskBatches
from phasefit.data.batches.combined import MIXES
from phasefit.data.batches.contract import Draw

ROWS = {"small": 10, "large": 95, "middle": 33}
SIZE = 8
BATCHES = {"small": 2, "large": 12, "middle": 5}
NAMES = list(ROWS)


def streams(rows: dict[str, int], seed: int = 0) -> dict[str, ShuffledBatches]:
    return {
        name: ShuffledBatches(np.arange(many), np.full(many, 5), batch_size=SIZE, seed=seed + place)
        for place, (name, many) in enumerate(rows.items())
    }


def batches(mix: str, *, seed: int = 0, order: tuple[str, ...] = (), temperature: float = 1.0) -> TaskBatches:
    return TaskBatches(streams(ROWS), mix=mix, seed=seed, order=order, temperature=temperature)


def tasks(drawn: list[Draw]) -> list[str]:
    return [NAMES[draw["task"][0]] for draw in drawn]


def seen(drawn: list[Draw]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {name: [] for name in NAMES}
    for draw in drawn:
        for row, task in zip(draw["rows"].tolist(), draw["task"].tolist(), strict=True):
            rows[NAMES[task]].append(row)
    return rows


def written(drawn: list[Draw]) -> list[list[list[int]]]:
    return [[draw["rows"].tolist(), draw["task"].tolist()] for draw in drawn]


@pytest.mark.parametrize("mix", MIXES)
def test_the_length_of_an_epoch(mix: str) -> None:
    stream = batches(mix)
    assert len(stream) == (7 if mix == "mixed" else 19)
    for epoch in range(3):
        drawn = list(stream.epoch(epoch))
        assert len(drawn) == len(stream)
        assert all(len(draw["rows"]) == len(draw["task"]) > 0 for draw in drawn)
        assert all(draw["task"].dtype == np.int64 for draw in drawn)
        assert all(max(rows, default=0) < ROWS[name] for name, rows in seen(drawn).items())


@pytest.mark.parametrize("mix", MIXES)
def test_an_epoch_depends_on_its_number_alone(mix: str) -> None:
    stream = batches(mix)
    first, second = written(list(stream.epoch(0))), written(list(stream.epoch(1)))
    assert first != second
    assert written(list(batches(mix).epoch(1))) == second
    assert written(list(stream.epoch(0))) == first


@pytest.mark.parametrize("mix", [mix for mix in MIXES if mix != "mixed"])
def test_a_batch_has_one_task(mix: str) -> None:
    assert all(len(set(draw["task"].tolist())) == 1 for draw in batches(mix).epoch(0))


@pytest.mark.parametrize("mix", MIXES)
def test_all_rows_are_used_eventually(mix: str) -> None:
    stream = batches(mix)
    rows_by_task = seen([draw for epoch in range(25) for draw in stream.epoch(epoch)])
    assert {name: sorted(set(rows)) for name, rows in rows_by_task.items()} == {
        name: list(range(many)) for name, many in ROWS.items()
    }


@pytest.mark.parametrize("mix", ["round_robin", "uniform", "proportional", "temperature"])
def test_no_row_repeats_before_all_rows_of_its_task_were_used(mix: str) -> None:
    for name, rows in seen(list(batches(mix, temperature=2).epoch(0))).items():
        times = np.bincount(np.array(rows, dtype=np.int64), minlength=ROWS[name])
        assert times.max() - times.min() <= 1


def test_a_task_that_runs_out_starts_again_in_another_order() -> None:
    rows = seen(list(batches("round_robin").epoch(0)))["small"]
    passes = [rows[start : start + 10] for start in (0, 10, 20)]
    assert [sorted(one) for one in passes] == [list(range(10))] * 3
    assert passes[0] != passes[1] != passes[2]


def test_sequential_is_one_task_after_the_other() -> None:
    drawn = list(batches("sequential").epoch(0))
    assert tasks(drawn) == [name for name in NAMES for _ in range(BATCHES[name])]
    assert {name: sorted(rows) for name, rows in seen(drawn).items()} == {n: list(range(m)) for n, m in ROWS.items()}


def test_sequential_follows_its_order_and_repeats_a_task_in_another_order() -> None:
    stream = batches("sequential", order=("large", "small", "large"))
    drawn = list(stream.epoch(0))
    assert len(stream) == len(drawn) == 26
    assert tasks(drawn) == ["large"] * 12 + ["small"] * 2 + ["large"] * 12
    first, second = (seen(part)["large"] for part in (drawn[:12], drawn[14:]))
    assert sorted(first) == sorted(second) == list(range(95))
    assert first != second
    assert first != seen(list(stream.epoch(1))[:12])["large"]


def test_round_robin_takes_turns() -> None:
    assert tasks(list(batches("round_robin").epoch(0))) == (NAMES * 7)[:19]


class Many:
    """A stream of `many` batches with one row each."""

    def __init__(self, many: int) -> None:
        self.many = many

    def __len__(self) -> int:
        return self.many

    def epoch(self, number: int):
        yield from ({"rows": np.array([row])} for row in range(self.many))


@pytest.mark.parametrize(
    ("mix", "temperature", "shares"),
    [
        ("uniform", 2.0, [1 / 3, 1 / 3, 1 / 3]),
        ("proportional", 2.0, [0.055, 0.907, 0.039]),
        ("temperature", 1.0, [0.055, 0.907, 0.039]),
        ("temperature", 2.0, [0.169, 0.689, 0.142]),
        ("temperature", 1e9, [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_shares_follow_the_sizes(mix: str, temperature: float, shares: list[float]) -> None:
    sizes = {"sst": Many(267), "quora": Many(4423), "sts": Many(189)}
    stream = TaskBatches(sizes, mix=mix, seed=0, temperature=temperature)
    assert stream.shares().tolist() == pytest.approx(shares, abs=6e-4)
    assert stream.shares().sum() == pytest.approx(1)
    drawn = np.bincount([int(draw["task"][0]) for draw in stream.epoch(0)], minlength=3)
    assert drawn.sum() == 4879
    assert (drawn / drawn.sum()).tolist() == pytest.approx(shares, abs=0.025)


def test_which_task_comes_depends_on_the_seed() -> None:
    assert tasks(list(batches("uniform", seed=0).epoch(0))) != tasks(list(batches("uniform", seed=1).epoch(0)))


def test_mixed_batches_interleave_rows_of_every_task() -> None:
    for draw in batches("mixed").epoch(0):
        assert set(draw["task"].tolist()) == {0, 1, 2}
        least = min(Counter(draw["task"].tolist()).values())
        assert draw["task"][: 3 * least].tolist() == [0, 1, 2] * least, "each process gets some of every task"


@given(
    many=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    mix=st.sampled_from(MIXES),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 3),
)
def test_any_sizes(many: list[int], mix: str, seed: int, epoch: int) -> None:
    made = streams({str(place): rows for place, rows in enumerate(many)}, seed)
    stream = TaskBatches(made, mix=mix, seed=seed, temperature=3.0)
    drawn = list(stream.epoch(epoch))
    assert len(drawn) == len(stream)
    assert all((draw["rows"] < np.array(many)[draw["task"]]).all() for draw in drawn)
    if mix in ("sequential", "round_robin") and len(many) == 1:
        assert sorted(np.concatenate([draw["rows"] for draw in drawn]).tolist()) == list(range(many[0]))
    if mix == "sequential":
        assert sum(len(draw["rows"]) for draw in drawn) == sum(many)
    if mix == "mixed":
        assert all(set(draw["task"].tolist()) == set(range(len(many))) for draw in drawn)
