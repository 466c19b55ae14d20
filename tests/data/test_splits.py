"""Splits: a partition, stratified, the same for the same seed, whatever the class sizes."""

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


def test_sizes_are_the_shares_asked_for() -> None:
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
def test_shares_that_make_no_sense(shares: tuple[float, float]) -> None:
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
    with pytest.raises(DataError, match="2 rows cannot hold all 3 classes"):
        sample(codes, 2, 0)


def test_few_shot() -> None:
    codes = np.repeat([0, 1, 2], [10, 1, 5])
    assert np.bincount(codes[few_shot(codes, 3, 0)]).tolist() == [3, 1, 3]
    assert np.array_equal(few_shot(codes, 3, 7), few_shot(codes, 3, 7))
    with pytest.raises(DataError, match="at least one row"):
        few_shot(codes, 0, 0)
