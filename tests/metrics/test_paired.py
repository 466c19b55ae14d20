"""The noise of differences between two evaluations of the same rows, compared with repeated draws of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from phasefit.metrics.multi_label import f1_scores
from phasefit.metrics.paired import correlation_contributions, f1_contributions, paired_error

RANDOM = np.random.default_rng(0)
ROWS = 400


def two_answers(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, and two similar predictions of them."""
    true = RANDOM.normal(size=rows)
    first = true + RANDOM.normal(size=rows)
    return true, first, first + 0.2 * RANDOM.normal(size=rows)


def test_the_error_of_a_difference_of_correlations() -> None:
    draws = [two_answers() for _ in range(300)]
    differences = [np.corrcoef(true, one)[0, 1] - np.corrcoef(true, other)[0, 1] for true, one, other in draws]
    errors = [
        paired_error(correlation_contributions(true, one), correlation_contributions(true, other))
        for true, one, other in draws
    ]
    assert np.mean(errors) == pytest.approx(np.std(differences), rel=0.15)
    assert np.mean(errors) < 0.3 * (1 - 0.5) / np.sqrt(ROWS), "much smaller than the error of one correlation"


def test_the_error_of_a_difference_of_micro_f1() -> None:
    differences, errors = [], []
    for _ in range(300):
        true = RANDOM.random((ROWS, 3)) < 0.3
        one = true ^ (RANDOM.random(true.shape) < 0.2)
        other = one ^ (RANDOM.random(true.shape) < 0.03)
        differences.append(f1_scores(true, one)[0] - f1_scores(true, other)[0])
        errors.append(paired_error(f1_contributions(true, one), f1_contributions(true, other)))
    assert np.mean(errors) == pytest.approx(np.std(differences), rel=0.15)


def test_equal_answers_and_single_rows_have_no_error() -> None:
    right = np.array([True, False, True])
    assert paired_error(right, right) == 0
    assert paired_error(right[:1], ~right[:1]) == 0
    assert paired_error(right, ~right) > 0


def test_constant_answers_have_no_influence() -> None:
    assert correlation_contributions(np.arange(4.0), np.full(4, 2.0)).tolist() == [0, 0, 0, 0]
    nothing = np.zeros((4, 2), dtype=bool)
    assert f1_contributions(nothing, nothing).tolist() == [0, 0, 0, 0]
