"""Several labels per text, against scikit-learn; thresholds, against every other there could be."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from phasefit.errors import DataError
from phasefit.metrics.multi_label import (
    HALF,
    LEAST,
    MOST,
    best_multi_temperature,
    best_thresholds,
    f1_scores,
    log_loss,
    multi_metrics,
    quick_multi,
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
    """Probabilities that know something, of labels from common to rare."""
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
    true, said = case
    thresholds = [threshold] * true.shape[1] if threshold else ()
    chosen = said >= (threshold or HALF)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = multi_metrics(true, said, names(true), thresholds)
    occurs = (true | chosen).any(axis=0)
    each = [f1_of(true[:, code], chosen[:, code]) for code in range(true.shape[1])]
    expected = {
        "micro_f1": f1_of(true.ravel(), chosen.ravel()),
        "macro_f1": np.mean(np.array(each)[occurs]) if occurs.any() else 0.0,
        "micro_precision": sk.precision_score(true.ravel(), chosen.ravel(), zero_division=0),
        "micro_recall": sk.recall_score(true.ravel(), chosen.ravel(), zero_division=0),
        "accuracy": np.mean([list(one) == list(other) for one, other in zip(true, chosen, strict=True)]),
        "log_loss": sk.log_loss(true.ravel(), said.ravel(), labels=[False, True]),
        "labels_per_text": chosen.sum() / len(true),
    }
    assert {name: report[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert [row["f1"] for row in report["per_class"].values()] == pytest.approx(each)
    assert [row["support"] for row in report["per_class"].values()] == true.sum(axis=0).tolist()
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_every_average_is_the_one_sklearn_calls_so() -> None:
    true, said = some()
    true[0], said[0] = False, 0.0  # nothing to find and nothing found is right
    report, chosen = multi_metrics(true, said, names(true)), said >= HALF
    for average in ("micro", "macro"):
        assert report[f"{average}_f1"] == pytest.approx(sk.f1_score(true, chosen, average=average))
    assert report["samples_f1"] == pytest.approx(sk.f1_score(true, chosen, average="samples", zero_division=1))
    assert report["accuracy"] == sk.accuracy_score(true, chosen)
    assert report["roc_auc"] == pytest.approx(sk.roc_auc_score(true, said, average="macro"))


def test_the_area_leaves_out_labels_with_rows_on_one_side_only() -> None:
    true, said = some()
    true[:, 1], true[:, 2] = True, False
    expected = sk.roc_auc_score(true[:, [0, 3]], said[:, [0, 3]], average="macro")
    assert multi_metrics(true, said, names(true))["roc_auc"] == pytest.approx(expected)
    assert quick_multi(true, said)["roc_auc"] == pytest.approx(expected)
    assert multi_metrics(true[:, 1:3], said[:, 1:3], ["a", "b"])["roc_auc"] is None
    assert quick_multi(true[:, 1:3], said[:, 1:3])["roc_auc"] == 0.5


def test_the_area_of_an_order_that_is_all_wrong_is_zero() -> None:
    true, said = np.array([[True], [False]]), np.array([[0.1], [0.9]])
    assert multi_metrics(true, said, ["a"])["roc_auc"] == 0
    assert quick_multi(true, said)["roc_auc"] == 0


@settings(deadline=None, max_examples=60)
@given(predictions())
def test_what_is_watched_is_always_a_number_within_bounds(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = quick_multi(*case)
    assert list(quick) == ["accuracy", "micro_f1", "macro_f1", "roc_auc", "log_loss"]
    assert all(np.isfinite(value) for value in quick.values())
    assert all(0 <= quick[name] <= 1 for name in quick if name != "log_loss")
    assert 0 <= quick["log_loss"] <= -np.log(np.finfo(np.float64).eps)


def test_what_is_watched_is_scored_at_the_best_thresholds() -> None:
    true, said = some()
    chosen = said >= best_thresholds(true, said)
    quick = quick_multi(true, said)
    assert quick["micro_f1"] == pytest.approx(sk.f1_score(true, chosen, average="micro"))
    assert quick["macro_f1"] == pytest.approx(sk.f1_score(true, chosen, average="macro"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certain_errors_stay_finite(dtype: type) -> None:
    assert log_loss(np.array([[True, False]]), np.array([[0, 1]], dtype=dtype)) == pytest.approx(
        -np.log(np.finfo(dtype).eps)
    )


def test_calibration_is_over_all_questions() -> None:
    true, said = np.array([[True, False], [True, True]]), np.full((2, 2), 0.5)
    report = multi_metrics(true, said, ["a", "b"])
    assert [each["rows"] for each in report["calibration"]] == [4]
    assert report["ece"] == pytest.approx(0.25)


# --- thresholds -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(predictions())
def test_no_other_threshold_is_better(case: Case) -> None:
    true, said = case
    found = best_thresholds(true, said)
    assert ((found >= LEAST) & (found <= MOST)).all()
    for code in range(true.shape[1]):
        own, sure = true[:, code], said[:, code]
        levels = np.unique(np.append(sure, [0.0, 1.0]))
        grid = [HALF, *(middle for middle in (levels[1:] + levels[:-1]) / 2 if LEAST <= middle <= MOST)]
        best, *others = (f1_scores(own[:, None], sure[:, None] >= each)[0] for each in (found[code], *grid))
        assert best >= max(others) - 1e-9


def test_a_threshold_takes_no_rows_along_that_it_was_to_leave() -> None:
    # Only a threshold above 0.98 could part the first ten from the next; the half is the best of those allowed.
    said = np.array([0.99] * 10 + [0.98] * 10 + [0.5] * 3)[:, None]
    true = np.array([True] * 10 + [False] * 10 + [True] * 3)[:, None]
    (found,) = best_thresholds(true, said)
    assert f1_of(true[:, 0], said[:, 0] >= found) >= f1_of(true[:, 0], said[:, 0] >= HALF)


def test_neighbouring_numbers_are_parted() -> None:
    below = np.float64(0.7)
    above = np.nextafter(below, 1)
    said, true = np.array([[above], [below], [below]]), np.array([[True], [False], [False]])
    assert (said >= best_thresholds(true, said)).tolist() == true.tolist()


def test_rare_labels_gain_by_thresholds() -> None:
    true, said = some(rows=400)
    said = said / 2  # as heads are of rare labels: never sure
    plain, best = (f1_scores(true, said >= threshold)[1] for threshold in (HALF, best_thresholds(true, said)))
    assert best > plain + 0.2


def test_between_equals_the_threshold_is_nearest_to_a_half() -> None:
    said, true = np.array([[0.9], [0.8], [0.3], [0.1]]), np.array([[True], [True], [False], [False]])
    assert best_thresholds(true, said) == pytest.approx([0.55])


@pytest.mark.parametrize(("true", "said"), [([0, 0], [0.9, 0.1]), ([1, 0], [0.01, 0.005])])
def test_where_nothing_can_be_chosen_it_is_the_half(true: list[int], said: list[float]) -> None:
    assert best_thresholds(np.array(true, dtype=bool)[:, None], np.array(said)[:, None]).tolist() == [HALF]


# --- temperature ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_temperature_that_logits_were_multiplied_with_is_found_again(factor: float) -> None:
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(10_000, 3))
    true = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    assert best_multi_temperature(true, 1 / (1 + np.exp(-factor * logits))) == pytest.approx(factor, rel=0.05)


def test_certainty_has_a_temperature_too() -> None:
    sure = np.array([[1.0, 0.0]])
    assert 0.01 < best_multi_temperature(np.array([[True, False]]), sure) < 1
    assert 1 < best_multi_temperature(np.array([[False, True]]), sure) < 100


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("true", "said", "message"),
    [
        (np.zeros((0, 2)), np.zeros((0, 2)), "no rows"),
        (np.zeros(2), np.zeros((2, 2)), r"not \(2,\) and \(2, 2\)"),
        (np.zeros((2, 3)), np.zeros((2, 2)), r"not \(2, 3\) and \(2, 2\)"),
        (np.zeros((1, 2)), np.array([[np.nan, 1]]), "contain NaN"),
        (np.zeros((1, 3)), np.zeros((1, 3)), "2 class names do not match 3 columns"),
    ],
)
def test_what_cannot_be_scored_is_refused(true: np.ndarray, said: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        multi_metrics(true, said, ["a", "b"])
