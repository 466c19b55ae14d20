"""Metrics of several labels per text, compared with scikit-learn; thresholds, compared with all alternatives."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from phasefit.errors import DataError
from phasefit.metrics.multi_label import best_multi_temperature, f1_scores, log_loss, multi_metrics, quick_multi
from phasefit.metrics.thresholds import (
    HALF,
    LEAST,
    MOST,
    best_thresholds,
    common_thresholds,
    shrunk_thresholds,
)

Case = tuple[np.ndarray, np.ndarray]


@st.composite
def predictions(draw: st.DrawFn) -> Case:
    """Sets and probabilities: rare and absent labels, empty sets, coarse values so that there are ties."""
    labels, rows = draw(st.integers(1, 5)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    true = rng.random((rows, labels)) < rng.choice([0.0, 0.1, 0.5, 1.0], size=labels)
    steps = draw(st.sampled_from([1, 4, 40]))
    return true, rng.integers(steps + 1, size=(rows, labels)) / steps


def some(rows: int = 80, labels: int = 4, seed: int = 0) -> Case:
    """Informative probabilities of labels from frequent to rare."""
    rng = np.random.default_rng(seed)
    true = rng.random((rows, labels)) < np.linspace(0.6, 0.1, labels)
    return true, np.clip(0.35 * true + 0.65 * rng.random((rows, labels)), 0, 1)


def f1_of(true: np.ndarray, chosen: np.ndarray) -> float:
    return float(sk.f1_score(true, chosen, zero_division=0))


def names(true: np.ndarray) -> list[str]:
    return [f"label {code}" for code in range(true.shape[1])]


# --- scores -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(predictions(), st.sampled_from([(), 0.3]))
def test_the_report_is_that_of_sklearn(case: Case, threshold: float | tuple[()]) -> None:
    true, probabilities = case
    thresholds = [threshold] * true.shape[1] if threshold else ()
    chosen = probabilities >= (threshold or HALF)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = multi_metrics(true, probabilities, names(true), thresholds)
    occurs = (true | chosen).any(axis=0)
    each = [f1_of(true[:, code], chosen[:, code]) for code in range(true.shape[1])]
    expected = {
        "micro_f1": f1_of(true.ravel(), chosen.ravel()),
        "macro_f1": np.mean(np.array(each)[occurs]) if occurs.any() else 0.0,
        "micro_precision": sk.precision_score(true.ravel(), chosen.ravel(), zero_division=0),
        "micro_recall": sk.recall_score(true.ravel(), chosen.ravel(), zero_division=0),
        "accuracy": np.mean([list(one) == list(other) for one, other in zip(true, chosen, strict=True)]),
        "log_loss": sk.log_loss(true.ravel(), probabilities.ravel(), labels=[False, True]),
        "labels_per_text": chosen.sum() / len(true),
    }
    assert {name: report[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert [row["f1"] for row in report["per_class"].values()] == pytest.approx(each)
    assert [row["support"] for row in report["per_class"].values()] == true.sum(axis=0).tolist()
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_averages_equal_those_of_sklearn() -> None:
    true, probabilities = some()
    true[0], probabilities[0] = False, 0.0  # no labels and no predictions: correct
    report, chosen = multi_metrics(true, probabilities, names(true)), probabilities >= HALF
    for average in ("micro", "macro"):
        assert report[f"{average}_f1"] == pytest.approx(sk.f1_score(true, chosen, average=average))
    assert report["samples_f1"] == pytest.approx(sk.f1_score(true, chosen, average="samples", zero_division=1))
    assert report["accuracy"] == sk.accuracy_score(true, chosen)
    assert report["roc_auc"] == pytest.approx(sk.roc_auc_score(true, probabilities, average="macro"))


def test_roc_auc_skips_labels_without_positive_or_negative_rows() -> None:
    true, probabilities = some()
    true[:, 1], true[:, 2] = True, False
    expected = sk.roc_auc_score(true[:, [0, 3]], probabilities[:, [0, 3]], average="macro")
    assert multi_metrics(true, probabilities, names(true))["roc_auc"] == pytest.approx(expected)
    assert quick_multi(true, probabilities)["roc_auc"] == pytest.approx(expected)
    assert multi_metrics(true[:, 1:3], probabilities[:, 1:3], ["a", "b"])["roc_auc"] is None
    assert quick_multi(true[:, 1:3], probabilities[:, 1:3])["roc_auc"] == 0.5


def test_roc_auc_of_a_reversed_order_is_zero() -> None:
    true, probabilities = np.array([[True], [False]]), np.array([[0.1], [0.9]])
    assert multi_metrics(true, probabilities, ["a"])["roc_auc"] == 0
    assert quick_multi(true, probabilities)["roc_auc"] == 0


@settings(deadline=None, max_examples=60)
@given(predictions())
def test_watched_metrics_are_numbers_within_bounds(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = quick_multi(*case)
    assert list(quick) == ["accuracy", "micro_f1", "macro_f1", "roc_auc", "log_loss"]
    assert all(np.isfinite(value) for value in quick.values())
    assert all(0 <= quick[name] <= 1 for name in quick if name != "log_loss")
    assert 0 <= quick["log_loss"] <= -np.log(np.finfo(np.float64).eps)


def test_each_watched_f1_uses_the_thresholds_chosen_for_it() -> None:
    true, probabilities = some()
    quick = quick_multi(true, probabilities)
    for average in ("micro", "macro"):
        chosen = probabilities >= shrunk_thresholds(true, probabilities, f"{average}_f1")
        assert quick[f"{average}_f1"] == pytest.approx(sk.f1_score(true, chosen, average=average))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certain_errors_stay_finite(dtype: type) -> None:
    assert log_loss(np.array([[True, False]]), np.array([[0, 1]], dtype=dtype)) == pytest.approx(
        -np.log(np.finfo(dtype).eps)
    )


def test_calibration_is_over_all_texts_and_labels() -> None:
    true, probabilities = np.array([[True, False], [True, True]]), np.full((2, 2), 0.5)
    report = multi_metrics(true, probabilities, ["a", "b"])
    assert [each["rows"] for each in report["calibration"]] == [4]
    assert report["ece"] == pytest.approx(0.25)


# --- thresholds -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(predictions())
def test_no_other_threshold_is_better(case: Case) -> None:
    true, probabilities = case
    thresholds = best_thresholds(true, probabilities)
    assert ((thresholds >= LEAST) & (thresholds <= MOST)).all()
    for code in range(true.shape[1]):
        own, sure = true[:, code], probabilities[:, code]
        levels = np.unique(np.append(sure, [0.0, 1.0]))
        grid = [HALF, *(middle for middle in (levels[1:] + levels[:-1]) / 2 if LEAST <= middle <= MOST)]
        best, *others = (f1_scores(own[:, None], sure[:, None] >= each)[0] for each in (thresholds[code], *grid))
        assert best >= max(others) - 1e-9


def test_a_clipped_threshold_does_not_include_further_rows() -> None:
    # Only a threshold above 0.98 could separate the first ten rows from the next; of the allowed ones, 0.5 is best.
    probabilities = np.array([0.99] * 10 + [0.98] * 10 + [0.5] * 3)[:, None]
    true = np.array([True] * 10 + [False] * 10 + [True] * 3)[:, None]
    (threshold,) = best_thresholds(true, probabilities)
    assert f1_of(true[:, 0], probabilities[:, 0] >= threshold) >= f1_of(true[:, 0], probabilities[:, 0] >= HALF)


def test_adjacent_floats_are_separated() -> None:
    below = np.float64(0.7)
    above = np.nextafter(below, 1)
    probabilities, true = np.array([[above], [below], [below]]), np.array([[True], [False], [False]])
    assert (probabilities >= best_thresholds(true, probabilities)).tolist() == true.tolist()


def test_thresholds_improve_rare_labels() -> None:
    true, probabilities = some(rows=400)
    probabilities = probabilities / 2  # like the probabilities of rare labels: always low
    plain, best = (
        f1_scores(true, probabilities >= threshold)[1] for threshold in (HALF, best_thresholds(true, probabilities))
    )
    assert best > plain + 0.2


def test_of_tied_thresholds_the_closest_to_half_is_chosen() -> None:
    probabilities, true = np.array([[0.9], [0.8], [0.3], [0.1]]), np.array([[True], [True], [False], [False]])
    assert best_thresholds(true, probabilities) == pytest.approx([0.55])


@pytest.mark.parametrize(("true", "probabilities"), [([0, 0], [0.9, 0.1]), ([1, 0], [0.01, 0.005])])
def test_the_default_threshold_is_half(true: list[int], probabilities: list[float]) -> None:
    assert best_thresholds(np.array(true, dtype=bool)[:, None], np.array(probabilities)[:, None]).tolist() == [HALF]


def rare_labels(rows: int, seed: int, labels: int = 25) -> Case:
    """One frequent and many rare labels, with weakly informative probabilities: like emotions with few rows."""
    rng = np.random.default_rng(seed)
    frequency = np.array([0.3, *np.geomspace(0.1, 0.01, labels - 1)])
    true = rng.random((rows, labels)) < frequency
    odds = np.log(frequency / (1 - frequency)) + 1.2 * true + rng.normal(0, 0.8, (rows, labels))
    return true, 1 / (1 + np.exp(-odds))


@pytest.mark.parametrize(("metric", "place"), [("micro_f1", 0), ("macro_f1", 1)])
def test_thresholds_of_rare_labels_do_not_overfit(metric: str, place: int) -> None:
    gains = []
    for seed in range(5):
        few, (true, probabilities) = rare_labels(140, seed), rare_labels(2000, 100 + seed)
        shrunk, own = shrunk_thresholds(*few, metric), best_thresholds(*few)
        scores = [f1_scores(true, probabilities >= each)[place] for each in (shrunk, own)]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > (0.03 if metric == "micro_f1" else 0.0)


def test_the_common_rule_has_the_best_watched_f1() -> None:
    true, probabilities = rare_labels(300, 0)
    rules = {metric: common_thresholds(true, probabilities, metric) for metric in ("micro_f1", "macro_f1")}
    for place, metric in enumerate(rules):
        best = f1_scores(true, probabilities >= rules[metric])[place]
        fixed = max(f1_scores(true, probabilities >= each)[place] for each in np.linspace(LEAST, MOST, 25))
        assert best >= fixed - 0.01
    assert len({*np.round(rules["macro_f1"], 6)}) > 1, "relative to the mean probability of each label"


def test_a_label_with_many_rows_has_its_own_threshold_and_one_without_rows_the_common_one() -> None:
    true, probabilities = some(rows=4000)
    true[:, 0] = False
    shrunk, own = shrunk_thresholds(true, probabilities, "micro_f1"), best_thresholds(true, probabilities)
    assert shrunk[1:] == pytest.approx(own[1:], abs=0.02)
    assert shrunk[0] == pytest.approx(common_thresholds(true, probabilities, "micro_f1")[0])


@settings(deadline=None, max_examples=60)
@given(predictions())
def test_shrunk_thresholds_are_within_bounds(case: Case) -> None:
    for metric in ("micro_f1", "macro_f1"):
        thresholds = shrunk_thresholds(*case, metric)
        assert thresholds.shape == (case[0].shape[1],)
        assert ((thresholds >= LEAST) & (thresholds <= MOST)).all()


# --- temperature ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_factor_of_the_logits_is_recovered(factor: float) -> None:
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(10_000, 3))
    true = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    assert best_multi_temperature(true, 1 / (1 + np.exp(-factor * logits))) == pytest.approx(factor, rel=0.05)


def test_certain_probabilities_have_a_temperature() -> None:
    sure = np.array([[1.0, 0.0]])
    assert 0.01 < best_multi_temperature(np.array([[True, False]]), sure) < 1
    assert 1 < best_multi_temperature(np.array([[False, True]]), sure) < 100


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("true", "probabilities", "message"),
    [
        (np.zeros((0, 2)), np.zeros((0, 2)), "no rows"),
        (np.zeros(2), np.zeros((2, 2)), r"not \(2,\) and \(2, 2\)"),
        (np.zeros((2, 3)), np.zeros((2, 2)), r"not \(2, 3\) and \(2, 2\)"),
        (np.zeros((1, 2)), np.array([[np.nan, 1]]), "contain NaN"),
        (np.zeros((1, 3)), np.zeros((1, 3)), "2 class names do not match 3 columns"),
    ],
)
def test_invalid_input_is_rejected(true: np.ndarray, probabilities: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        multi_metrics(true, probabilities, ["a", "b"])
