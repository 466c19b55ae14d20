"""The scores that a phase may watch, and a quick way to all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.errors import DataError, RecipeError, did_you_mean
from phasefit.metrics.confusion import ClassScores, Floats, Ints, confusion_matrix
from phasefit.metrics.ranking import roc_auc


@dataclass(frozen=True)
class Score:
    """A score by its name in `quick_scores` and `metrics.json`, and which way is better."""

    name: str
    higher_is_better: bool = True

    def better(self, new: float, old: float) -> bool:
        """Whether `new` beats `old`; what is not a number beats nothing."""
        return new > old if self.higher_is_better else new < old

    @property
    def worst(self) -> float:
        """What every score beats."""
        return -np.inf if self.higher_is_better else np.inf


SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score("accuracy"),
        Score("macro_precision"),
        Score("macro_recall"),
        Score("macro_f1"),
        Score("weighted_f1"),
        Score("roc_auc"),
        Score("log_loss", higher_is_better=False),
        Score("micro_f1"),
        Score("pearson"),
        Score("spearman"),
        Score("mse", higher_is_better=False),
        Score("mae", higher_is_better=False),
    )
}


def watchable(name: str) -> Score:
    """The score of that name; a RecipeError with the nearest name when there is none."""
    if name not in SCORES and name != "auto":
        raise RecipeError(f"unknown score '{name}' to watch; {did_you_mean(name, SCORES)}")
    return SCORES.get(name, Score(name))


def quick_scores(codes_true: Ints, probabilities: Floats) -> dict[str, float]:
    """All SCORES of one class per row, from (n, classes) probabilities; cheap enough for every validation.

    Macro averages are over the classes that occur in the truth or among the predictions. A ROC-AUC that is not defined
    (all rows of one class) counts as 0.5, what knowing nothing gets, so that it can still be compared.
    """
    true, probabilities = checked(codes_true, probabilities)
    matrix = confusion_matrix(true, probabilities.argmax(axis=1), probabilities.shape[1])
    averages = ClassScores.of(matrix).averages()
    area = roc_auc(true, probabilities)
    found = averages | {
        "accuracy": float(np.trace(matrix) / len(true)),
        "roc_auc": 0.5 if area is None else area,
        "log_loss": log_loss(true, probabilities),
    }
    return {name: found[name] for name in SCORES if name in found}


def log_loss(true: Ints, probabilities: Floats) -> float:
    """Mean of -log of the probability of the true class, which is kept off 0 by the precision of its type."""
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
