from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.metrics import classification_metrics
from phasefit.metrics.calibration import (
    BINS,
    best_temperature,
    calibration_bins,
    calibration_error,
    selective,
    threshold_for,
)


def two_classes(confidence: list[float]) -> np.ndarray:
    """Probabilities that predict class 0 with this confidence."""
    return np.array([[sure, 1 - sure] for sure in confidence])


def test_bins_and_error_by_hand() -> None:
    # Of 5 bins, (0.6, 0.8] holds 0.65, 0.75 and 0.8 with two right, (0.8, 1] holds 0.9 and 1 with one right.
    true = np.array([0, 1, 0, 1, 0])
    bins = calibration_bins(true, two_classes([0.65, 0.75, 0.8, 0.9, 1.0]), bins=5)
    assert [(each["from"], each["to"], each["rows"]) for each in bins] == [
        (pytest.approx(0.6), pytest.approx(0.8), 3),
        (pytest.approx(0.8), 1.0, 2),
    ]
    assert [each["confidence"] for each in bins] == pytest.approx([2.2 / 3, 0.95])
    assert [each["accuracy"] for each in bins] == pytest.approx([2 / 3, 0.5])
    assert calibration_error(bins) == pytest.approx((3 * (2.2 - 2) / 3 + 2 * 0.45) / 5)


def test_the_error_is_in_the_report_of_every_kind_of_label() -> None:
    true, probabilities = np.array([0, 0, 1, 2]), np.array([[0.8, 0.1, 0.1]] * 4)  # says 0.8, is right in half
    for levels in (None, [("a", "x"), ("a", "y"), ("b", "z")]):
        report = classification_metrics(true, probabilities, ["x", "y", "z"], levels)
        assert report["ece"] == pytest.approx(0.3)
        assert [each["rows"] for each in report["calibration"]] == [4]
        assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certainty_stays_within_the_bins(dtype: type) -> None:
    sure = np.array([[1.0, 0.0], [1.0 + 1e-7, 0.0]], dtype=dtype)
    (last,) = calibration_bins(np.array([0, 0]), sure)
    assert (last["to"], last["rows"], last["confidence"], last["accuracy"]) == (1.0, 2, 1.0, 1.0)


def test_no_rows_have_no_error() -> None:
    assert calibration_error([]) == 0


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_every_row_is_in_the_bin_that_holds_its_confidence(rows: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    probabilities, true = random.dirichlet(np.ones(classes), size=rows), random.integers(classes, size=rows)
    bins = calibration_bins(true, probabilities)
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == true
    expected = 0.0
    for number in range(BINS):
        here = (sure > number / BINS) & (sure <= (number + 1) / BINS)
        expected += abs(sure[here].sum() - right[here].sum()) / rows
    assert calibration_error(bins) == pytest.approx(expected)
    assert sum(each["rows"] for each in bins) == rows
    assert all(each["rows"] and each["from"] < each["confidence"] <= each["to"] for each in bins)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_factor_of_the_logits_is_recovered(factor: float) -> None:
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(20_000, 5))
    true = np.array([random.choice(5, p=row) for row in softmax(logits)])
    probabilities = softmax(factor * logits)
    assert best_temperature(true, probabilities) == pytest.approx(factor, rel=0.05)


def test_a_few_correct_rows_do_not_make_everything_certain() -> None:
    probabilities = np.tile([0.9, 0.1], (5, 1))
    temperature = best_temperature(np.zeros(5, dtype=int), probabilities)
    assert 0.3 < temperature < 1  # the likelihood alone knows no end: exp(-3) is the least that is looked at


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60), st.floats(0, 0.9), st.integers(0, 2**32 - 1))
def test_at_most_the_given_share_of_rows_is_below_the_threshold(rows: int, rate: float, seed: int) -> None:
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(3), size=rows)
    sure = probabilities.max(axis=1)
    threshold = threshold_for(rate, probabilities)
    assert (sure < threshold).sum() == int(rate * rows)  # no two rows are equally sure here
    assert threshold in sure


def test_selective_scores_by_hand() -> None:
    scores = selective(np.array([0, 1, 1, 0]), np.array([0, -1, 0, 0]))
    assert scores == {"answered": 0.75, "accuracy_answered": pytest.approx(2 / 3)}
    assert selective(np.array([0]), np.array([-1])) == {"answered": 0.0, "accuracy_answered": None}


def softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits)
    return raised / raised.sum(axis=1, keepdims=True)
