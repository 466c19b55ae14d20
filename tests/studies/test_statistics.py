"""Intervals and tests against scipy, the papers' formulas worked by hand, and what must always hold."""

from __future__ import annotations

from math import isclose, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from phasefit.studies.statistics import Difference, Estimate, RowError, estimate, holm, paired, ranks, wilcoxon

SCORES = st.lists(st.floats(0, 1, allow_nan=False), min_size=2, max_size=20)


def test_an_interval_is_that_of_the_t_distribution() -> None:
    values = [0.81, 0.84, 0.79, 0.86, 0.80]
    known = estimate(values)
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert known.n == 5
    assert isclose(known.mean, 0.82)
    assert known.sd == pytest.approx(np.std(values, ddof=1))
    assert (known.low, known.high) == pytest.approx((low, high))


def test_one_repetition_has_no_interval() -> None:
    known = estimate([0.5])
    assert (known.n, known.mean, known.sd, known.low, known.high) == (1, 0.5, None, None, None)
    assert paired([0.5], [0.25]).mean == 0.25
    assert paired([0.5], [0.25]).p is None


def test_an_interval_stays_within_the_bounds_of_the_metric() -> None:
    known = estimate([0.9, 1.0], bounds=(0.0, 1.0))
    assert known.high == 1.0
    assert known.low == pytest.approx(0.95 - stats.t.ppf(0.975, 1) * sqrt(0.005 / 2)) or known.low == 0.0


def test_without_shared_rows_the_test_is_the_paired_t_test() -> None:
    values, base = [0.9, 0.85, 0.88, 0.91], [0.86, 0.84, 0.87, 0.85]
    expected = stats.ttest_rel(values, base)
    known = paired(values, base)
    assert known.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (known.low, known.high) == pytest.approx((interval.low, interval.high))


def test_shared_rows_widen_the_variance_as_in_nadeau_and_bengio() -> None:
    # Five folds: test / train is 1/4. Gains 1, 2, 3, 4, 5: mean 3, variance 2.5.
    known = paired([1, 2, 3, 4, 5], [0] * 5, overlap=0.25)
    error = sqrt((1 / 5 + 1 / 4) * 2.5)
    assert known.p == pytest.approx(2 * stats.t.sf(3 / error, 4))
    assert known.high == pytest.approx(3 + stats.t.ppf(0.975, 4) * error)
    assert known.p > (paired([1, 2, 3, 4, 5], [0] * 5).p or 0)


def test_identical_repetitions_have_no_interval() -> None:
    assert paired([0.5, 0.6], [0.5, 0.6]) == Difference(0.0, p=1.0)
    assert paired([0.75, 0.75], [0.5, 0.5]) == Difference(0.25)
    assert estimate([0.5, 0.5]) == Estimate(2, 0.5, 0.0)


def test_holms_correction_by_hand() -> None:
    # Sorted .01, .02, .03, .04 times 4, 3, 2, 1: .04, .06, .06, .04 -> never falling: .04, .06, .06, .06.
    assert holm([0.04, 0.01, None, 0.03, 0.02]) == pytest.approx([0.06, 0.04, None, 0.06, 0.06])
    assert holm([None, None]) == [None, None]


def test_wilcoxon_over_datasets() -> None:
    values, base = [0.9, 0.8, 0.7, 0.95, 0.6, 0.85], [0.85, 0.78, 0.71, 0.9, 0.55, 0.8]
    gains = np.subtract(values, base)
    assert wilcoxon(values, base) == pytest.approx(stats.wilcoxon(gains, zero_method="zsplit").pvalue)
    assert wilcoxon([0.5], [0.4]) is None
    assert wilcoxon([0.5, 0.6], [0.5, 0.6]) == 1.0


def test_ties_share_ranks() -> None:
    assert ranks([0.9, 0.8, 0.9, 0.1]) == [1.5, 3.0, 1.5, 4.0]
    assert ranks([(0.8 + 0.9) / 2, (0.75 + 0.95) / 2]) == [1.5, 1.5], "rounding errors do not count"


@pytest.mark.parametrize("shared", [True, False])
def test_rows_only_widen_the_interval_of_the_seeds(shared: bool) -> None:
    for error in (0.0, 0.01, 0.05, 0.2):
        alone, both = estimate([0.80, 0.90]), estimate([0.80, 0.90], rows=RowError(error, shared))
        assert both.low <= alone.low < alone.high <= both.high
        one, two = paired([0.80, 0.90], [0.7, 0.75]), paired([0.80, 0.90], [0.7, 0.75], rows=RowError(error, shared))
        assert two.low <= one.low
        assert two.p >= one.p


@pytest.mark.parametrize("shared", [True, False])
def test_an_error_from_few_groups_of_rows_is_less_certain(shared: bool) -> None:
    gain = paired([0.8, 0.8], [0.5, 0.5], rows=RowError(0.1, shared, groups=6))
    error = 0.1 if shared else 0.1 / np.sqrt(2)
    assert gain.p == pytest.approx(2 * stats.t.sf(0.3 / error, 5))
    assert gain.high == pytest.approx(0.3 + stats.t.ppf(0.975, 5) * error)


@given(SCORES, st.floats(0, 1))
def test_the_mean_is_inside_its_interval_and_overlap_only_widens_it(values: list[float], overlap: float) -> None:
    plain, wider = estimate(values), estimate(values, overlap)
    if plain.low is None:
        assert np.ptp(values) < 1e-9
        return
    assert plain.high is not None
    assert wider.low is not None
    assert plain.low <= plain.mean + 1e-12
    assert plain.mean <= plain.high + 1e-12
    assert wider.low <= plain.low + 1e-12


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
def test_holm_never_lowers_a_p_value_or_exceeds_one(chances: list[float | None]) -> None:
    for before, after in zip(chances, holm(chances), strict=True):
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert before <= after <= 1.0
