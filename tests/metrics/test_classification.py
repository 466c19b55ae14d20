from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as sk

from phasefit.errors import DataError
from phasefit.metrics import classification_metrics, quick_scores
from phasefit.metrics.calibration import confidence_entropy
from phasefit.metrics.classification import wilson_interval

NAMES = ["ham", "spam", "eggs", "toast"]


def sure(codes: list[int], classes: int) -> np.ndarray:
    """Probabilities that predict these codes."""
    return np.eye(classes)[codes] * 0.9 + 0.1 / classes


@pytest.fixture(scope="module")
def case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    true = rng.integers(3, size=80)  # "toast" is never there
    return true, rng.dirichlet(np.ones(4), size=80)


def test_everything_equals_sklearn(case: tuple[np.ndarray, np.ndarray]) -> None:
    true, probabilities = case
    predicted = probabilities.argmax(axis=1)
    report = classification_metrics(true, probabilities, NAMES)
    for average in ("macro", "weighted"):
        scores = sk.precision_recall_fscore_support(true, predicted, average=average, zero_division=0)
        ours = [report[f"{average}_{name}"] for name in ("precision", "recall", "f1")]
        assert ours == pytest.approx(scores[:3])
    each = sk.precision_recall_fscore_support(true, predicted, labels=range(4), zero_division=0)
    assert [list(scores.values()) for scores in report["per_class"].values()] == [
        pytest.approx(list(row)) for row in zip(*each, strict=True)
    ]
    assert list(report["per_class"]) == report["confusion"]["labels"] == NAMES
    assert report["confusion"]["matrix"] == sk.confusion_matrix(true, predicted, labels=range(4)).tolist()
    quick = quick_scores(true, probabilities)
    assert {name: report[name] for name in quick} == quick


def test_the_report_goes_through_json(case: tuple[np.ndarray, np.ndarray]) -> None:
    report = classification_metrics(*case, NAMES)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["rows"] == 80


def test_the_entropy_of_confidence_by_hand() -> None:
    rows = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])  # 0.5 * 1 + 2 * 0.25 * 2 = 1.5 bits, and none
    assert confidence_entropy(rows) == pytest.approx(0.75)
    assert confidence_entropy(np.full((3, 8), 1 / 8)) == pytest.approx(3)
    report = classification_metrics(np.array([0, 0]), rows, ["a", "b", "c"])
    assert report["confidence_entropy"] == pytest.approx(0.75)


def test_one_class_alone_has_no_roc_auc() -> None:
    report = classification_metrics(np.array([1, 1]), sure([1, 1], 2), ["no", "yes"])
    assert report["roc_auc"] is None
    assert report["macro_f1"] == report["accuracy"] == 1
    assert report["per_class"]["no"] == {"precision": 0, "recall": 0, "f1": 0, "support": 0}


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [  # Newcombe (1998), Table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval_is_newcombes(hits: int, rows: int, low: float, high: float) -> None:
    assert wilson_interval(hits, rows) == pytest.approx((low, high), abs=5e-5)
    assert wilson_interval(rows - hits, rows) == pytest.approx((1 - high, 1 - low), abs=5e-5)


LEVELS = [("food", "other"), ("food", "fruit"), ("place", "other"), ("place", "city")]


def test_tree_levels_by_hand() -> None:
    true = np.array([0, 1, 2, 3])
    predicted = [0, 0, 0, 3]  # right; right parent; wrong parent, equal child name; right
    report = classification_metrics(true, sure(predicted, 4), ["/".join(path) for path in LEVELS], LEVELS)
    assert [level["accuracy"] for level in report["levels"]] == [0.75, 0.5]
    assert report["accuracy"] == 0.5
    # food: 2 of 2 found, 3 predicted, F1 4/5; place: 1 of 2 found, 1 predicted, F1 2/3
    assert report["levels"][0]["macro_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert report["levels"][1]["macro_f1"] == pytest.approx(report["macro_f1"])
    assert report["hierarchical_f1"] == pytest.approx((2 + 1 + 0 + 2) / 8)
    json.dumps(report, allow_nan=False)


@pytest.mark.parametrize("short", [("food",), ("food", ""), ("food", None)])
def test_a_path_may_end_early(short: tuple[str | None, ...]) -> None:
    levels = [short, ("food", "fruit"), ("place", "city")]
    report = classification_metrics(np.array([0, 1, 2]), sure([0, 0, 2], 3), ["a", "b", "c"], levels)
    assert [level["accuracy"] for level in report["levels"]] == [1, pytest.approx(2 / 3)]
    assert report["hierarchical_f1"] == pytest.approx(2 * (1 + 1 + 2) / (5 + 4))


def test_names_must_match_the_columns() -> None:
    with pytest.raises(DataError, match="2 class names do not match 3 columns"):
        classification_metrics(np.array([0]), np.full((1, 3), 1 / 3), ["a", "b"])
