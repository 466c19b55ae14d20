"""Folds: every row is held out at most once, copies stay together, classes are in proportion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.splits import folds
from phasefit.errors import DataError


def test_classes_are_dealt_out_in_proportion() -> None:
    codes = np.repeat([0, 1, 2], [50, 30, 20])
    fold_of_row = folds(codes, 5, seed=0)
    for one in range(5):
        assert np.bincount(codes[fold_of_row == one]).tolist() == [10, 6, 4]


def test_folds_depend_on_the_seed() -> None:
    codes = np.repeat([0, 1], 40)
    assert (folds(codes, 4, seed=1) == folds(codes, 4, seed=1)).all()
    assert (folds(codes, 4, seed=1) != folds(codes, 4, seed=2)).any()


def test_copies_of_a_text_stay_together() -> None:
    codes, same = np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([7, 7, 8, 9, 1, 2, 2, 3])
    fold_of_row = folds(codes, 2, seed=3, same=same)
    assert fold_of_row[0] == fold_of_row[1]
    assert fold_of_row[5] == fold_of_row[6]


def test_the_only_text_of_a_class_is_never_held_out() -> None:
    codes, same = np.array([0, 0, 0, 1, 2, 2]), np.array([1, 2, 3, 4, 5, 5])
    fold_of_row = folds(codes, 3, seed=0, same=same)
    assert fold_of_row[3] == -1
    assert fold_of_row[4] == fold_of_row[5] == -1
    assert (fold_of_row[:3] >= 0).all()


def test_one_fold_is_refused() -> None:
    with pytest.raises(DataError, match="at least 2 folds"):
        folds(np.array([0, 1]), 1, seed=0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), min_size=1, max_size=80), st.integers(2, 6))
def test_any_rows(rows: list[tuple[int, int]], number: int) -> None:
    codes, same = np.array([code for code, _ in rows]), np.array([text for _, text in rows])
    fold_of_row = folds(codes, number, seed=0, same=same)
    assert ((fold_of_row >= -1) & (fold_of_row < number)).all()
    for text in np.unique(same):
        assert len({*fold_of_row[same == text].tolist()}) == 1
    for one in range(number):  # every class that is held out somewhere can be learned elsewhere
        rest = {*codes[fold_of_row != one].tolist()}
        assert {*codes.tolist()} == rest
