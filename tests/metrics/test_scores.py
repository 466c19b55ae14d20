from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from phasefit.errors import DataError, PhasefitError, RecipeError
from phasefit.kinds import kind_named
from phasefit.metrics import METRICS, quick_scores, watchable


@st.composite
def predictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Codes and probabilities: any number of classes, some absent, coarse values so that there are ties."""
    classes, rows = draw(st.integers(2, 6)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    true = rng.integers(draw(st.integers(1, classes)), size=rows)
    weights = rng.integers(1, draw(st.integers(2, 50)), size=(rows, classes)).astype(float)
    return true, weights / weights.sum(axis=1, keepdims=True)


def by_sklearn(true: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """The same scores, one library call each."""
    classes = range(probabilities.shape[1])
    predicted = probabilities.argmax(axis=1)
    parts = sk.precision_recall_fscore_support(true, predicted, average="macro", zero_division=0)
    judged = [1] if len(classes) == 2 else classes
    sides = [code for code in judged if 0 < (true == code).sum() < len(true)]
    areas = [sk.roc_auc_score(true == code, probabilities[:, code]) for code in sides]
    return {
        "accuracy": sk.accuracy_score(true, predicted),
        "macro_precision": parts[0],
        "macro_recall": parts[1],
        "macro_f1": parts[2],
        "weighted_f1": sk.f1_score(true, predicted, average="weighted", zero_division=0),
        "roc_auc": np.mean(areas) if areas else 0.5,
        "log_loss": sk.log_loss(true, probabilities, labels=list(classes)),
    }


@given(predictions())
def test_quick_scores_are_those_of_sklearn(case: tuple[np.ndarray, np.ndarray]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = quick_scores(*case)
    assert list(quick) == [name for name in kind_named("single").watchable if METRICS[name].compute is None]
    assert set(quick) <= set(METRICS)
    assert quick == pytest.approx(by_sklearn(*case), abs=1e-12)


def test_roc_auc_is_sklearns_one_vs_rest() -> None:
    rng = np.random.default_rng(0)
    true = np.arange(60) % 4
    probabilities = rng.dirichlet(np.ones(4), size=60)
    expected = sk.roc_auc_score(true, probabilities, multi_class="ovr", average="macro")
    assert quick_scores(true, probabilities)["roc_auc"] == pytest.approx(expected)


def test_float32_and_certain_errors_stay_finite() -> None:
    probabilities = np.array([[1, 0], [0, 1]], dtype=np.float32)
    wrong = quick_scores(np.array([1, 0]), probabilities)
    assert wrong["log_loss"] == pytest.approx(-np.log(np.finfo(np.float32).eps))
    assert wrong["accuracy"] == wrong["macro_f1"] == wrong["roc_auc"] == 0


@pytest.mark.parametrize(
    ("true", "probabilities", "message"),
    [
        (np.zeros(0, int), np.zeros((0, 2)), "no rows"),
        (np.array([0, 2]), np.full((2, 2), 0.5), "codes 0 to 2 do not match 2 columns"),
        (np.array([-1]), np.full((1, 2), 0.5), "codes -1 to -1"),
        (np.array([0]), np.full((2, 2), 0.5), r"not \(1,\) and \(2, 2\)"),
        (np.array([0]), np.array([[np.nan, 1]]), "contain NaN"),
    ],
)
def test_invalid_input_is_rejected(true: np.ndarray, probabilities: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        quick_scores(true, probabilities)


def test_watchable_knows_the_direction() -> None:
    assert watchable("macro_f1").better(0.6, 0.5)
    assert watchable("log_loss").better(0.5, 0.6)
    for score in METRICS.values():
        assert score.better(0.5, score.worst)
        assert not score.better(float("nan"), score.worst)


def test_watchable_suggests_the_nearest_name() -> None:
    with pytest.raises(RecipeError, match="unknown metric 'macro-f1' to watch; did you mean 'macro_f1'") as caught:
        watchable("macro-f1")
    assert isinstance(caught.value, PhasefitError)
