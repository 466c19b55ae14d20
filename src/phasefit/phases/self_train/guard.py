"""The guard of self-training: is a round better than the last one that was kept, on rows it was not trained on?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.metrics.calibration import best_temperature
from phasefit.phases.pseudo_labels import calibrated

ROUNDING = 1e-9  # one row that is lost lowers the accuracy by exactly one standard error


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows by encoders and heads that never saw their labels."""

    right: np.ndarray  # whether each row is predicted correctly
    log_loss: float  # after calibration

    @property
    def accuracy(self) -> float:
        """The share of rows that are predicted correctly."""
        return float(self.right.mean())

    @classmethod
    def of(cls, logs: np.ndarray, codes: np.ndarray) -> HeldOut:
        """From log-probabilities (n, classes). The log loss is only reported, and must not differ by confidence."""
        probabilities = calibrated(logs, best_temperature(codes, calibrated(logs, 1.0)))
        of_true = probabilities[np.arange(len(codes)), codes]
        losses = -np.log(np.maximum(of_true, np.finfo(np.float64).tiny))
        return cls(probabilities.argmax(axis=1) == codes, float(losses.mean()))


def gain(before: HeldOut, after: HeldOut) -> tuple[float, float]:
    """How much higher the accuracy is, and the standard error of that difference."""
    higher = after.right.astype(np.float64) - before.right
    error = float(higher.std(ddof=1) / np.sqrt(len(higher))) if len(higher) > 1 else 0.0
    return float(higher.mean()), error


def helps(before: HeldOut, after: HeldOut, errors: float) -> bool:
    """Whether the accuracy is not lower by more than this many standard errors.

    The log loss plays no part: texts are drawn to their pseudo-labels, so that errors become more confident in rounds
    that raise the accuracy too, and no temperature undoes that.
    """
    higher, error = gain(before, after)
    return higher >= -errors * error - ROUNDING
