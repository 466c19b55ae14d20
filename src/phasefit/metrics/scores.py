"""The metrics of single labels that a phase may watch, computed together."""

from __future__ import annotations

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.confusion import ClassScores, Floats, Ints, confusion_matrix
from phasefit.metrics.ranking import roc_auc
from phasefit.metrics.registry import watchable_names


def quick_scores(codes_true: Ints, probabilities: Floats) -> dict[str, float]:
    """The metrics that a phase may watch, from n codes and (n, classes) probabilities; cheap enough to run often.

    Macro averages are over the classes that occur in the true labels or in the predictions. An undefined ROC-AUC (all
    rows have the same class) counts as 0.5, the value of random guessing, so that it can still be compared.
    """
    true, probabilities = checked(codes_true, probabilities)
    matrix = confusion_matrix(true, probabilities.argmax(axis=1), probabilities.shape[1])
    averages = ClassScores.of(matrix).averages()
    area = roc_auc(true, probabilities)
    scores = averages | {
        "accuracy": float(np.trace(matrix) / len(true)),
        "roc_auc": 0.5 if area is None else area,
        "log_loss": log_loss(true, probabilities),
    }
    return {name: scores[name] for name in watchable_names("single") if name in scores}


def log_loss(true: Ints, probabilities: Floats) -> float:
    """Mean of -log of the probability of the true class, clipped to the precision of its type.

    scikit-learn's is fifty times slower, and this runs at every evaluation; it also warns if rows do not sum to 1.
    """
    of_true = np.take_along_axis(probabilities, true[:, None], axis=1)[:, 0]
    eps = np.finfo(probabilities.dtype).eps
    return float(-np.log(np.clip(of_true, eps, 1 - eps).astype(np.float64)).mean())


def checked(codes_true: Ints, probabilities: Floats) -> tuple[Ints, Floats]:
    """Both as arrays of matching shape: at least one code, each below the number of columns; no NaN."""
    true, table = np.asarray(codes_true), np.asarray(probabilities)
    if not np.issubdtype(table.dtype, np.floating):
        table = table.astype(np.float64)
    if table.ndim != 2 or true.shape != table.shape[:1]:
        raise DataError(f"metrics need n codes and (n, classes) probabilities, not {true.shape} and {table.shape}")
    if not len(true):
        raise DataError("there are no rows to score")
    if true.min() < 0 or true.max() >= table.shape[1]:
        raise DataError(f"codes {true.min()} to {true.max()} do not match {table.shape[1]} columns of probabilities")
    if np.isnan(table).any():
        raise DataError("the probabilities contain NaN")
    return true, table
