"""The imbalance correction matches the reference values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.balance import MODES, corrected_rows, corrected_sizes, growth
from phasefit.errors import RecipeError

SIZES = [1000, 100, 50, 10, 1]


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, 4), (5, 3.0680), (10, 2.6667), (50, 1.7347), (100, 1.3333), (500, 0.4014), (1000, 0)],
)
def test_growth(size: int, expected: float) -> None:
    assert growth(size, 1000, 4) == pytest.approx(expected, abs=5e-5)


def test_growth_is_guarded_and_crosses_where_it_should() -> None:
    assert growth(1, 1, 4) == 0
    assert growth(10**6, 10**8, 4) == pytest.approx(1)  # f = 1 at M^0.75
    assert growth(177, 1000, 4) > 1 > growth(178, 1000, 4)
    assert growth(74, 1000, 4) > 1.5 > growth(75, 1000, 4)


def test_sizes_of_the_released_code() -> None:
    assert corrected_sizes(SIZES, "code").tolist() == [1000, 100, 100, 30, 4]
    assert corrected_sizes(SIZES, "code", 1.5, 20).tolist() == [1000, 700, 450, 130, 20]


def test_sizes_of_the_paper() -> None:
    assert corrected_sizes(SIZES, "paper").tolist() == [1500, 150, 87, 27, 4]
    assert corrected_sizes([1, 1], "paper").tolist() == [2, 2]


def test_nothing_to_correct() -> None:
    assert corrected_sizes(SIZES, "none").tolist() == SIZES
    assert corrected_sizes([500, 500], "code").tolist() == [500, 500]
    assert corrected_sizes([10, 0], "code").tolist() == [10, 0]
    assert corrected_sizes([], "code").tolist() == []
    with pytest.raises(RecipeError, match="unknown imbalance correction 'papre'; did you mean 'paper'"):
        corrected_sizes(SIZES, "papre")


@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.sampled_from(MODES), st.integers(0, 5))
def test_rows(sizes: list[int], mode: str, seed: int) -> None:
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows, noisy = corrected_rows(codes, mode=mode, seed=seed)
    assert rows.dtype == np.int64
    assert rows[~noisy].tolist() == list(range(len(codes)))  # every row once, in order; only copies are noisy
    assert np.bincount(codes[rows]).tolist() == corrected_sizes(sizes, mode).tolist()
    copies = np.bincount(rows, minlength=len(codes))
    for code in range(len(sizes)):
        assert np.ptp(copies[codes == code]) <= 1
    assert np.array_equal(rows, corrected_rows(codes, mode=mode, seed=seed)[0])
