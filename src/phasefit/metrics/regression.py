"""Scores of scores: how well predicted numbers follow the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import Any

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.classification import Z95
from phasefit.metrics.confusion import ClassScores, class_rows, confusion_matrix

MOST_POINTS = 2000  # of the picture of predicted against true scores


def quick_regression(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """What a phase may watch; a correlation that is not defined counts as 0."""
    true, predicted = checked(true, predicted)
    return {
        "pearson": pearson(true, predicted) or 0.0,
        "spearman": spearman(true, predicted) or 0.0,
        "mse": float(np.square(predicted - true).mean()),
        "mae": float(np.abs(predicted - true).mean()),
    }


def regression_metrics(true: np.ndarray, predicted: np.ndarray, levels: Sequence[str] = ()) -> dict[str, Any]:
    """Everything `metrics.json` says about scores on one split; correlations are None where one side is constant.

    With the names of `levels`, predictions count as the nearest one, and are scored as classes too.
    """
    true, predicted = checked(true, predicted)
    metrics: dict[str, Any] = {"rows": len(true)}
    metrics["pearson"] = pearson(true, predicted)
    if metrics["pearson"] is not None and len(true) > 3:
        metrics["pearson_ci95"] = list(fisher_interval(metrics["pearson"], len(true)))
    error = np.square(predicted - true)
    spread = float(np.square(true - true.mean()).sum())
    metrics |= {
        "spearman": spearman(true, predicted),
        "mse": float(error.mean()),
        "mae": float(np.abs(predicted - true).mean()),
        "r2": 1 - float(error.sum()) / spread if not is_constant(true) else None,
    }
    if levels:
        metrics |= _of_levels(true, predicted, levels)
    some = np.linspace(0, len(true) - 1, min(len(true), MOST_POINTS)).astype(int)
    metrics["points"] = [[float(true[row]), float(predicted[row])] for row in some]
    return metrics


def pearson(true: np.ndarray, predicted: np.ndarray) -> float | None:
    """The linear correlation; scipy's differs in the last digits and warns of what is nearly constant."""
    left, right = true - true.mean(), predicted - predicted.mean()
    if is_constant(true) or is_constant(predicted):
        return None
    size = sqrt(float((left**2).sum())) * sqrt(float((right**2).sum()))
    return float(np.clip((left * right).sum() / size, -1.0, 1.0))


def is_constant(values: np.ndarray) -> bool:
    """Whether all are the same, but for rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def spearman(true: np.ndarray, predicted: np.ndarray) -> float | None:
    """The correlation of the ranks; scores that tie share one."""
    from scipy.stats import rankdata

    return pearson(rankdata(true), rankdata(predicted))


def fisher_interval(correlation: float, rows: int, z: float = Z95) -> tuple[float, float]:
    """Fisher's interval of a correlation; that of scipy's `pearsonr` differs in the last digits."""
    middle, half = atanh(min(max(correlation, -0.999999), 0.999999)), z / sqrt(rows - 3)
    return tanh(middle - half), tanh(middle + half)


def nearest_levels(predicted: np.ndarray, levels: int) -> np.ndarray:
    """The place of the level that each score is nearest to."""
    return np.clip(np.floor(predicted + 0.5), 0, levels - 1).astype(np.int64)


def _of_levels(true: np.ndarray, predicted: np.ndarray, levels: Sequence[str]) -> dict[str, Any]:
    codes, predicted_codes = nearest_levels(true, len(levels)), nearest_levels(predicted, len(levels))
    matrix = confusion_matrix(codes, predicted_codes, len(levels))
    scores = ClassScores.of(matrix)
    return {
        "accuracy": float((codes == predicted_codes).mean()),
        "macro_f1": scores.averages()["macro_f1"],
        "quadratic_kappa": _kappa(codes, predicted_codes, len(levels)),
        "per_class": class_rows(levels, scores.precision, scores.recall, scores.f1, scores.support),
        "confusion": {"labels": list(levels), "matrix": matrix.tolist()},
    }


def _kappa(true: np.ndarray, predicted: np.ndarray, levels: int) -> float | None:
    """Cohen's kappa with quadratic weights; None where all rows are of one level and predicted so."""
    from sklearn.metrics import cohen_kappa_score

    if np.ptp(np.concatenate([true, predicted])) == 0:
        return None
    return float(cohen_kappa_score(predicted, true, labels=np.arange(levels), weights="quadratic"))


def checked(true: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two as (n,) float64 that fit each other, without NaN."""
    right, guess = (np.asarray(side, dtype=np.float64) for side in (true, predicted))
    guess = guess[:, 0] if guess.ndim == 2 and guess.shape[1] == 1 else guess
    if right.ndim != 1 or right.shape != guess.shape:
        raise DataError(f"scoring needs n true and n predicted scores, not {right.shape} and {guess.shape}")
    if not len(right):
        raise DataError("there are no rows to score")
    if np.isnan(guess).any() or np.isnan(right).any():
        raise DataError("a score is not a number")
    return right, guess
