"""The guard of self-training: is a round better than the last one that was kept, on rows it was not trained on?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.metrics.calibration import best_temperature
from phasefit.phases.self_train.pseudo_labels import calibrated


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows by encoders and heads that never saw their labels."""

    accuracy: float
    losses: np.ndarray  # the log loss of each row, after calibration

    @property
    def log_loss(self) -> float:
        """The mean log loss."""
        return float(self.losses.mean())

    @classmethod
    def of(cls, logs: np.ndarray, codes: np.ndarray) -> HeldOut:
        """From log-probabilities (n, classes). They are calibrated first: a round must not win by confidence alone."""
        probabilities = calibrated(logs, best_temperature(codes, calibrated(logs, 1.0)))
        of_true = probabilities[np.arange(len(codes)), codes]
        right = probabilities.argmax(axis=1) == codes
        return cls(float(right.mean()), -np.log(np.maximum(of_true, np.finfo(np.float64).tiny)))


def gain(before: HeldOut, after: HeldOut) -> tuple[float, float]:
    """How much lower the log loss is, and the standard error of that difference; both are means over the rows."""
    lower = before.losses - after.losses
    error = float(lower.std(ddof=1) / np.sqrt(len(lower))) if len(lower) > 1 else 0.0
    return float(lower.mean()), error


def helps(before: HeldOut, after: HeldOut, errors: float) -> bool:
    """Whether the log loss is lower by more than this many standard errors, and the accuracy not lower."""
    lower, error = gain(before, after)
    return lower > errors * error and after.accuracy >= before.accuracy
