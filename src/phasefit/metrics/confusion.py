"""The confusion matrix, and precision, recall and F1 computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.floating[Any]]


def confusion_matrix(true: Ints, predicted: Ints, classes: int) -> Ints:
    """Counts (classes, classes): rows are true classes, columns predicted ones.

    scikit-learn's is a hundred times slower; this runs at every evaluation.
    """
    flat = np.asarray(true, dtype=np.int64) * classes + np.asarray(predicted, dtype=np.int64)
    return np.bincount(flat, minlength=classes * classes).reshape(classes, classes)


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of each class; 0 if a class was never predicted or never occurs."""

    precision: Floats
    recall: Floats
    f1: Floats
    support: Ints
    present: NDArray[np.bool_]  # in the true labels or in the predictions

    @classmethod
    def of(cls, matrix: Ints) -> ClassScores:
        """Compute them from a confusion matrix."""
        hits, support, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
        return cls(
            precision=hits / np.maximum(predicted, 1),
            recall=hits / np.maximum(support, 1),
            f1=2 * hits / np.maximum(support + predicted, 1),
            support=support,
            present=(support + predicted) > 0,
        )

    def averages(self) -> dict[str, float]:
        """Macro averages over the classes that are present, and averages weighted by the rows of each class."""
        weight = self.support / self.support.sum()
        scores = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        macro = {f"macro_{name}": float(values[self.present].mean()) for name, values in scores.items()}
        return macro | {f"weighted_{name}": float(values @ weight) for name, values in scores.items()}


def class_rows(
    names: Sequence[str], precision: np.ndarray, recall: np.ndarray, f1: np.ndarray, support: np.ndarray
) -> dict[str, dict[str, float]]:
    """The scores of each class by its name, as plain numbers for JSON."""
    rows = zip(names, precision.tolist(), recall.tolist(), f1.tolist(), support.tolist(), strict=True)
    return {
        name: {"precision": float(p), "recall": float(r), "f1": float(f), "support": int(count)}
        for name, p, r, f, count in rows
    }
