"""The metrics of one class per text that a phase may watch, all at once."""

from __future__ import annotations

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.confusion import ClassScores, Floats, Ints, confusion_matrix
from phasefit.metrics.ranking import roc_auc
from phasefit.metrics.registry import watchable_names


def quick_scores(codes_true: Ints, probabilities: Floats) -> dict[str, float]:
    """What a phase may watch, from n codes and (n, classes) probabilities; cheap enough for every validation.

    Macro averages are over the classes that occur in the truth or among the predictions. A ROC-AUC that is not defined
    (all rows of one class) counts as 0.5, what knowing nothing gets, so that it can still be compared.
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
    """Mean of -log of the probability of the true class, which is kept off 0 by the precision of its type.

    scikit-learn's takes fifty times as long, at every validation, and warns of rows whose sum is not quite 1.
    """
    likely = np.take_along_axis(probabilities, true[:, None], axis=1)[:, 0]
    eps = np.finfo(probabilities.dtype).eps
    return float(-np.log(np.clip(likely, eps, 1 - eps).astype(np.float64)).mean())


def checked(codes_true: Ints, probabilities: Floats) -> tuple[Ints, Floats]:
    """The two as arrays that fit each other: some codes, each below the number of columns; no NaN."""
    true, table = np.asarray(codes_true), np.asarray(probabilities)
    if not np.issubdtype(table.dtype, np.floating):
        table = table.astype(np.float64)
    if table.ndim != 2 or true.shape != table.shape[:1]:
        raise DataError(f"scoring needs n codes and (n, classes) probabilities, not {true.shape} and {table.shape}")
    if not len(true):
        raise DataError("there are no rows to score")
    if true.min() < 0 or true.max() >= table.shape[1]:
        raise DataError(f"codes {true.min()} to {true.max()} do not fit {table.shape[1]} columns of probabilities")
    if np.isnan(table).any():
        raise DataError("a probability to score is not a number")
    return true, table
