"""What is known of a figure by its name: what it can be, and which way is better. Imports no torch."""

from __future__ import annotations

from math import inf

from phasefit.metrics.scores import SCORES

ERRORS = ("mse", "mae", "log_loss", "confidence_entropy")  # from 0 on, without an end
CORRELATIONS = ("pearson", "spearman", "quadratic_kappa")
BELOW_ZERO = (*CORRELATIONS, "mean")  # the mean of several tasks may have a correlation in it
LOWER = (*ERRORS, "ece", "ece_uncalibrated")


def leaf(path: str) -> str:
    """`test.levels.0.accuracy` -> accuracy; of several paths, that of the first."""
    return path.split(",")[0].rpartition(".")[2].strip()


def bounds_of(path: str) -> tuple[float, float]:
    """Between what a figure lies: shares from 0 to 1, correlations from -1, errors without an end."""
    name = leaf(path)
    if name == "r2":
        return -inf, 1.0
    if name in ERRORS:
        return 0.0, inf
    return (-1.0 if name in BELOW_ZERO else 0.0), 1.0


def is_share(path: str) -> bool:
    """Whether it is told in per cent."""
    return leaf(path) not in ERRORS


def lower_is_better(path: str) -> bool:
    """Of errors, and of how far probabilities are off."""
    score = SCORES.get(leaf(path))
    return leaf(path) in LOWER or (score is not None and not score.higher_is_better)
