from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.batches import PairBatches, draw_pairs
from phasefit.data.batches.pairs import shuffles

many_codes = st.lists(st.integers(0, 4), min_size=2, max_size=60)


@pytest.mark.parametrize(
    ("augmentation", "classes", "expected"),
    [(12, 2, 12), (12, 3, 12), (12, 4, 24), (12, 10, 36), (4, 99, 24), (12, 100, 12), (12, 150, 12), (12, 1, 12)],
)
def test_the_authors_count(augmentation: int, classes: int, expected: int) -> None:
    assert shuffles(augmentation, classes) == expected


@given(codes=many_codes, times=st.integers(1, 12), seed=st.integers(0, 3), copies=st.integers(0, 20))
def test_pairs_are_unique_unordered_and_never_of_a_text_with_itself(codes, times, seed, copies) -> None:
    random = np.random.default_rng(seed)
    origin = np.concatenate([np.arange(len(codes)), random.integers(0, len(codes), copies)])
    targets = np.array(codes)[origin]
    pairs, agree = draw_pairs(targets, origin, times=times, seed=seed)
    assert pairs.shape == (len(agree), 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)
    assert (origin[pairs[:, 0]] != origin[pairs[:, 1]]).all(), "not even through a copy"
    assert (agree == (targets[pairs[:, 0]] == targets[pairs[:, 1]])).all()
    assert len(pairs) <= times * len(origin)
    values, counts = np.unique(agree, return_counts=True)
    if len(values) == 2:
        assert counts[0] == counts[1], "as many alike as unlike"


def test_the_same_seed_draws_the_same_pairs() -> None:
    codes = np.arange(50) % 4
    first, again, other = (draw_pairs(codes, np.arange(50), times=6, seed=seed)[0] for seed in (0, 0, 1))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_all_pairs_of_a_small_table_are_drawn() -> None:
    pairs, _ = draw_pairs(np.zeros(6, dtype=int), np.arange(6), times=200, seed=0)
    assert len(pairs) == 6 * 5 // 2


def test_tree_targets_are_balanced_over_all_their_values() -> None:
    paths = np.array([[row % 2, row // 2 % 3] for row in range(80)])
    _, agree = draw_pairs(paths, np.arange(80), times=10, seed=0)
    values, counts = np.unique(agree, return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert len(set(counts.tolist())) == 1


def test_memory_is_that_of_the_pairs_drawn() -> None:
    rows, times = 20_000, 12
    tracemalloc.start()
    try:
        pairs, _ = draw_pairs(np.arange(rows) % 2, np.arange(rows), times=times, seed=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows * times // 2 < len(pairs) <= rows * times
    assert peak < 5 * 8 * rows * times


@given(many=st.integers(0, 90), size=st.integers(1, 30))
def test_every_pair_once_per_epoch(many: int, size: int) -> None:
    pairs = np.arange(2 * many).reshape(-1, 2)
    batches = PairBatches(pairs, np.arange(2 * many) + 1, batch_size=size, seed=0)
    drawn = [draw["pairs"] for draw in batches.epoch(0)]
    assert len(drawn) == len(batches)
    assert sorted(map(tuple, np.concatenate([np.empty((0, 2)), *drawn]).tolist())) == list(map(tuple, pairs.tolist()))
