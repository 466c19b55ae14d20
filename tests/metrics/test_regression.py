"""Regression metrics, compared with scipy and scikit-learn."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from phasefit.errors import DataError, RecipeError
from phasefit.kinds import kind_named
from phasefit.metrics.regression import (
    MOST_POINTS,
    fisher_interval,
    nearest_levels,
    pearson,
    quick_regression,
    regression_metrics,
    spearman,
)
from phasefit.runs.evaluation.score import mean_of_tasks

LEVELS = ["bad", "fair", "good", "great"]
Case = tuple[np.ndarray, np.ndarray]


@st.composite
def scores(draw: st.DrawFn) -> Case:
    """True and predicted scores of any unit; coarse ones tie, and a side may be constant."""
    rows = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    true = np.round(rng.normal(size=rows), draw(st.integers(0, 3)))
    predicted = np.round(draw(st.sampled_from([-0.5, 0.0, 0.9])) * true + 0.3 * rng.normal(size=rows), 2)
    for side in (true, predicted):
        if draw(st.integers(0, 5)) == 0:
            side[:] = 0.1
    unit, start = draw(st.sampled_from([(1.0, 0.0), (100.0, 0.0), (1.0, 2000.0), (0.01, -3.0)]))
    return unit * true + start, unit * predicted + start


def some(rows: int = 60, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    true = rng.normal(3, 1, size=rows)
    return true, 0.7 * true + rng.normal(0, 0.5, size=rows)


# --- scores -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(scores())
def test_the_report_is_that_of_scipy_and_sklearn(case: Case) -> None:
    true, predicted = case
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = regression_metrics(true, predicted)
    assert report["mse"] == pytest.approx(sk.mean_squared_error(true, predicted))
    assert report["mae"] == pytest.approx(sk.mean_absolute_error(true, predicted))
    if np.ptp(true) and np.ptp(predicted):
        assert report["pearson"] == pytest.approx(stats.pearsonr(true, predicted).statistic, abs=1e-9)
        assert report["spearman"] == pytest.approx(stats.spearmanr(true, predicted).statistic, abs=1e-9)
    else:
        assert report["pearson"] is None
        assert report["spearman"] is None
    if np.ptp(true):
        assert report["r2"] == pytest.approx(sk.r2_score(true, predicted))
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@settings(deadline=None, max_examples=60)
@given(scores())
def test_watched_metrics_are_numbers_within_bounds(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = quick_regression(*case)
    assert list(quick) == ["pearson", "spearman", "mse", "mae"]
    assert all(np.isfinite(value) for value in quick.values())
    assert -1 <= quick["pearson"] <= 1
    assert -1 <= quick["spearman"] <= 1
    assert 0 <= quick["mae"] ** 2 <= quick["mse"] + 1e-12


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("side", ["true", "predicted", "both"])
def test_a_constant_side_has_no_correlation(value: float, side: str) -> None:
    constant, other = np.full(7, value), some(7)[0]
    true, predicted = {"true": (constant, other), "predicted": (other, constant), "both": (constant, constant)}[side]
    report, quick = regression_metrics(true, predicted), quick_regression(true, predicted)
    assert (report["pearson"], report["spearman"]) == (None, None)
    assert (quick["pearson"], quick["spearman"]) == (0, 0)
    assert "pearson_ci95" not in report


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e6 + 0.1])
def test_constant_true_scores_have_no_r2(value: float) -> None:
    assert regression_metrics(np.full(3, value), np.array([0.1, 0.2, 0.3]))["r2"] is None


@pytest.mark.parametrize("unit", [1e-7, 1e-3, 1.0, 1e9])
def test_the_unit_of_the_scores_does_not_matter(unit: float) -> None:
    true, predicted = some()
    assert pearson(unit * true, unit * predicted) == pytest.approx(pearson(true, predicted))
    assert spearman(unit * true, predicted) == pytest.approx(spearman(true, predicted))


def test_one_row_has_errors_but_no_correlation() -> None:
    report = regression_metrics(np.array([2.0]), np.array([2.5]))
    assert report == {
        "rows": 1,
        "pearson": None,
        "spearman": None,
        "mse": 0.25,
        "mae": 0.5,
        "r2": None,
        "points": [[2.0, 2.5]],
    }


def test_a_single_column_is_accepted() -> None:
    true, predicted = some()
    assert regression_metrics(true, predicted[:, None]) == regression_metrics(true, predicted)


def test_the_interval_is_scipys() -> None:
    true, predicted = some()
    theirs = stats.pearsonr(true, predicted).confidence_interval(0.95)
    assert regression_metrics(true, predicted)["pearson_ci95"] == pytest.approx(list(theirs), abs=1e-6)


@pytest.mark.parametrize("correlation", [-1.0, 0.0, 1.0])
def test_the_interval_stays_within_bounds(correlation: float) -> None:
    low, high = fisher_interval(correlation, 4)
    assert -1 <= low < high <= 1


def test_the_picture_gets_a_bounded_number_of_points_from_first_to_last() -> None:
    true = np.arange(3 * MOST_POINTS, dtype=float)
    points = regression_metrics(true, -true)["points"]
    assert len(points) == MOST_POINTS
    assert (points[0], points[-1]) == ([0.0, 0.0], [true[-1], -true[-1]])


# --- levels -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_levels_are_scored_as_sklearn_scores_classes(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(len(LEVELS), size=rows).astype(float)
    predicted = true + rng.normal(0, 1.2, size=rows)
    report = regression_metrics(true, predicted, LEVELS)
    codes, levels = true.astype(int), np.abs(predicted[:, None] - np.arange(len(LEVELS))).argmin(axis=1)
    assert report["accuracy"] == pytest.approx(sk.accuracy_score(codes, levels))
    assert report["macro_f1"] == pytest.approx(sk.f1_score(codes, levels, average="macro", zero_division=0))
    assert [row["support"] for row in report["per_class"].values()] == np.bincount(codes, minlength=4).tolist()
    assert report["confusion"]["matrix"] == sk.confusion_matrix(codes, levels, labels=range(4)).tolist()
    if len({*codes, *levels}) > 1:
        kappa = sk.cohen_kappa_score(codes, levels, weights="quadratic", labels=range(4))
        assert report["quadratic_kappa"] == pytest.approx(kappa)
    else:
        assert report["quadratic_kappa"] is None
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_measurements_are_not_scored_as_classes() -> None:
    assert not {"accuracy", "macro_f1", "quadratic_kappa", "confusion", "per_class"} & set(regression_metrics(*some()))


def test_a_score_counts_as_the_nearest_level() -> None:
    predicted = np.array([-7.0, 0.49, 0.5, 1.0, 2.51, 3.4, 99.0])
    assert nearest_levels(predicted, 4).tolist() == [0, 0, 1, 1, 3, 3, 3]


# --- what a phase watches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "usual"), [("single", "macro_f1"), ("multi", "micro_f1"), ("score", "pearson")])
def test_a_kind_has_a_default_metric_and_rejects_others(kind: str, usual: str) -> None:
    labels = kind_named(kind)
    assert labels.check_watch("auto", "finetune") == usual
    assert labels.check_watch(labels.watchable[-1], "finetune") == labels.watchable[-1]
    foreign = "macro_f1" if kind == "score" else "pearson"
    with pytest.raises(RecipeError, match=f"finetune: cannot watch '{foreign}' with labels of kind '{kind}'"):
        labels.check_watch(foreign, "finetune")


@pytest.mark.parametrize("kind", ["multi", "score"])
def test_every_watchable_metric_is_computed(kind: str) -> None:
    true = np.array([[True], [False]]) if kind == "multi" else np.array([1.0, 2.0])
    assert set(kind_named(kind).watchable) == set(kind_named(kind).quick(true, np.array([[0.2], [0.7]])))


def test_the_mean_over_tasks_uses_the_main_metric_of_each() -> None:
    tasks = {"a": {"accuracy": 0.5, "macro_f1": 0.1}, "b": {"micro_f1": 0.75, "accuracy": 0}, "c": {"pearson": None}}
    kinds = {"a": "tree", "b": "multi", "c": "score"}
    assert mean_of_tasks(tasks, kinds) == pytest.approx(1.25 / 3)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        (np.zeros(0), np.zeros(0), "no rows"),
        (np.zeros(2), np.zeros(3), r"not \(2,\) and \(3,\)"),
        (np.zeros(2), np.zeros((2, 2)), r"not \(2,\) and \(2, 2\)"),
        (np.zeros(1), np.array([np.nan]), "contain NaN"),
        (np.array([np.nan]), np.zeros(1), "contain NaN"),
    ],
)
def test_invalid_input_is_rejected(true: np.ndarray, predicted: np.ndarray, message: str) -> None:
    for score in (quick_regression, regression_metrics):
        with pytest.raises(DataError, match=message):
            score(true, predicted)
