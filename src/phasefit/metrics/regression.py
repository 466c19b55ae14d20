"""Regression metrics: how well predicted scores match the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import Any

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.classification import Z95
from phasefit.metrics.confusion import ClassScores, class_rows, confusion_matrix

MOST_POINTS = 2000  # in the picture of predicted against true scores


def quick_regression(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """The metrics that a phase may watch; an undefined correlation counts as 0."""
    true, predicted = checked(true, predicted)
    return {
        "pearson": pearson(true, predicted) or 0.0,
        "spearman": spearman(true, predicted) or 0.0,
        "mse": float(np.square(predicted - true).mean()),
        "mae": float(np.abs(predicted - true).mean()),
    }


def regression_metrics(true: np.ndarray, predicted: np.ndarray, levels: Sequence[str] = ()) -> dict[str, Any]:
    """All metrics of scores on one split, for `metrics.json`; correlations are None if one side is constant.

    With the names of `levels`, predictions are also rounded to the nearest level and scored as classes.
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
    sample = np.linspace(0, len(true) - 1, min(len(true), MOST_POINTS)).astype(int)
    metrics["points"] = [[float(true[row]), float(predicted[row])] for row in sample]
    return metrics


def pearson(true: np.ndarray, predicted: np.ndarray) -> float | None:
    """The linear correlation; scipy's differs in the last digits and warns about nearly constant input."""
    left, right = true - true.mean(), predicted - predicted.mean()
    if is_constant(true) or is_constant(predicted):
        return None
    size = sqrt(float((left**2).sum())) * sqrt(float((right**2).sum()))
    return float(np.clip((left * right).sum() / size, -1.0, 1.0))


def is_constant(values: np.ndarray) -> bool:
    """Whether all values are the same, up to rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def spearman(true: np.ndarray, predicted: np.ndarray) -> float | None:
    """The correlation of the ranks; tied scores share a rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(true), rankdata(predicted))


def fisher_interval(correlation: float, rows: int, z: float = Z95) -> tuple[float, float]:
    """Fisher's interval of a correlation; scipy's `pearsonr` differs in the last digits."""
    middle, half = atanh(min(max(correlation, -0.999999), 0.999999)), z / sqrt(rows - 3)
    return tanh(middle - half), tanh(middle + half)


def nearest_levels(predicted: np.ndarray, levels: int) -> np.ndarray:
    """The position of the level nearest to each score."""
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
    """Cohen's kappa with quadratic weights; None if all rows have the same level and the same prediction."""
    from sklearn.metrics import cohen_kappa_score

    if np.ptp(np.concatenate([true, predicted])) == 0:
        return None
    return float(cohen_kappa_score(predicted, true, labels=np.arange(levels), weights="quadratic"))


def checked(true: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as (n,) float64 arrays of the same length, without NaN."""
    scores, guess = (np.asarray(side, dtype=np.float64) for side in (true, predicted))
    guess = guess[:, 0] if guess.ndim == 2 and guess.shape[1] == 1 else guess
    if scores.ndim != 1 or scores.shape != guess.shape:
        raise DataError(f"metrics need n true and n predicted scores, not {scores.shape} and {guess.shape}")
    if not len(scores):
        raise DataError("there are no rows to score")
    if np.isnan(guess).any() or np.isnan(scores).any():
        raise DataError("the scores contain NaN")
    return scores, guess
