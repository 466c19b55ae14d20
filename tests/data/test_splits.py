"""Splits: a stratified partition, the same for the same seed, for any class sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.splits import few_shot, sample, split
from phasefit.errors import DataError

CODES = st.lists(st.integers(1, 60), min_size=1, max_size=12).flatmap(
    lambda sizes: st.permutations(np.repeat(np.arange(len(sizes)) * 3, sizes).tolist())
)
SHARES = st.tuples(st.floats(0, 0.6), st.floats(0, 0.39))
SEEDS = st.integers(0, 9)


@given(CODES, SHARES, SEEDS)
def test_a_partition_that_leaves_every_class_in_train(codes: list[int], shares: tuple[float, float], seed: int) -> None:
    rows = np.array(codes)
    parts = split(rows, validation=shares[0], test=shares[1], seed=seed)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together.tolist()) == list(range(len(rows)))
    assert set(rows[parts.train]) == set(codes)
    sizes = np.unique(rows, return_counts=True)[1]
    assert parts.lone == (sizes == 1).sum()
    again = split(rows, validation=shares[0], test=shares[1], seed=seed)
    assert np.array_equal(parts.train, again.train)
    assert np.array_equal(parts.test, again.test)


@given(CODES, SEEDS)
def test_stratified(codes: list[int], seed: int) -> None:
    rows = np.array(codes)
    parts = split(rows, validation=0.2, test=0.1, seed=seed)
    for code in set(codes):
        size = int((rows == code).sum())
        for part, share in ((parts.validation, 0.2), (parts.test, 0.1)):
            held = int((rows[part] == code).sum())
            assert abs(held - share * size) <= 1
            assert held >= 1 or size < 4


def test_sizes_match_the_requested_shares() -> None:
    codes = np.repeat(np.arange(10), 33)
    parts = split(codes, validation=0.2, test=0.1, seed=0)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (231, 66, 33)
    other = split(codes, validation=0.2, test=0.1, seed=1)
    assert not np.array_equal(parts.test, other.test)


def test_many_small_classes_do_not_drain_train() -> None:
    pairs = split(np.repeat(np.arange(1000), 2), validation=0.2, test=0.1, seed=0)
    assert len(pairs.validation) == 400
    lone = split(np.arange(50), validation=0.2, test=0.1, seed=0)
    assert len(lone.train) == lone.lone == 50


def test_no_share_no_rows() -> None:
    parts = split(np.array([0, 0, 1, 1]), validation=0, test=0, seed=0)
    assert len(parts.train) == 4
    assert parts.validation.dtype == np.int64


@pytest.mark.parametrize("shares", [(-0.1, 0.1), (0.5, 0.5), (0.9, 0.2), (float("nan"), 0.1)])
def test_invalid_shares_are_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(DataError, match="leave some rows to train on"):
        split(np.array([0, 1]), validation=shares[0], test=shares[1], seed=0)
    with pytest.raises(DataError, match="no rows to split"):
        split(np.array([], dtype=np.int64), validation=0.1, test=0.1, seed=0)


@given(CODES, st.data(), SEEDS)
def test_a_sample_has_its_size_and_every_class(codes: list[int], data: st.DataObject, seed: int) -> None:
    rows = np.array(codes)
    size = data.draw(st.integers(len(set(codes)), len(codes) + 2))
    taken = sample(rows, size, seed)
    assert len(taken) == len(set(taken.tolist())) == min(size, len(codes))
    assert set(rows[taken]) == set(codes)
    assert np.array_equal(taken, sample(rows, size, seed))
    sizes = np.unique(rows, return_counts=True)[1]
    if np.minimum(sizes, 2).sum() <= size:
        assert (np.unique(rows[taken], return_counts=True)[1] >= np.minimum(sizes, 2)).all()


def test_a_sample_keeps_proportions() -> None:
    codes = np.repeat([0, 1, 2], [700, 200, 100])
    assert np.bincount(codes[sample(codes, 100, 0)]).tolist() == [70, 20, 10]
    with pytest.raises(DataError, match="2 rows cannot include all 3 classes"):
        sample(codes, 2, 0)


def test_few_shot() -> None:
    codes = np.repeat([0, 1, 2], [10, 1, 5])
    assert np.bincount(codes[few_shot(codes, 3, 0)]).tolist() == [3, 1, 3]
    assert np.array_equal(few_shot(codes, 3, 7), few_shot(codes, 3, 7))
    with pytest.raises(DataError, match="at least one row"):
        few_shot(codes, 0, 0)


# --- copies of a text -------------------------------------------------------------------------------------------------

COPIED = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), min_size=1, max_size=80)


@given(COPIED, SHARES, SEEDS)
def test_copies_never_cross_a_split(rows: list[tuple[int, int]], shares: tuple[float, float], seed: int) -> None:
    codes, same = (np.array(column) for column in zip(*rows, strict=True))
    parts = split(codes, validation=shares[0], test=shares[1], seed=seed, same=same)
    sides = [set(same[part].tolist()) for part in (parts.train, parts.validation, parts.test)]
    assert sum(map(len, sides)) == len(set(same.tolist()))
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together.tolist()) == list(range(len(rows)))
    assert set(codes[parts.train]) == set(codes)
    assert parts.lone == sum(len(set(same[codes == code].tolist())) == 1 for code in set(codes.tolist()))
    again = split(codes, validation=shares[0], test=shares[1], seed=seed, same=same)
    assert np.array_equal(parts.validation, again.validation)


@given(CODES, SHARES, SEEDS)
def test_without_copies_nothing_changes(codes: list[int], shares: tuple[float, float], seed: int) -> None:
    rows = np.array(codes)
    plain = split(rows, validation=shares[0], test=shares[1], seed=seed)
    apart = split(rows, validation=shares[0], test=shares[1], seed=seed, same=np.arange(len(rows))[::-1] * 7)
    for name in ("train", "validation", "test", "lone"):
        assert np.array_equal(getattr(plain, name), getattr(apart, name))


def test_splits_do_not_change_between_versions() -> None:
    """The rows are those of the first version used for benchmarks."""
    parts = split(np.arange(30) % 3, validation=0.2, test=0.1, seed=5, same=np.arange(30))
    assert parts.validation.tolist() == [2, 6, 7, 11, 24, 28]
    assert parts.test.tolist() == [3, 4, 20]


def test_each_text_twice_is_stratified_by_texts() -> None:
    codes, same = np.tile(np.repeat(np.arange(10), 33), 2), np.tile(np.arange(330), 2)
    parts = split(codes, validation=0.2, test=0.1, seed=0, same=same)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (462, 132, 66)
    small = split(np.repeat(np.arange(100), 6), validation=0.2, test=0.1, seed=0, same=np.arange(600) // 2)
    assert (len(small.validation), len(small.test)) == (120, 60)


def test_a_text_that_would_fill_a_part_is_trained_on() -> None:
    same = np.concatenate([np.zeros(500, dtype=np.int64), np.arange(1, 501)])
    for seed in range(20):
        parts = split(np.zeros(1000, dtype=np.int64), validation=0.2, test=0.1, seed=seed, same=same)
        assert 0 in same[parts.train]
        assert (len(parts.validation), len(parts.test)) == (100, 50)


def test_a_class_that_shares_its_only_text_stays_in_train() -> None:
    for seed in range(30):
        codes = np.array([*[0] * 20, *[1] * 20, 2])
        same = np.array([*range(20), *range(20, 40), 3])  # the one row of class 2 is a copy of a row of class 0
        parts = split(codes, validation=0.4, test=0.4, seed=seed, same=same)
        assert 2 in codes[parts.train]
        assert parts.lone == 1
