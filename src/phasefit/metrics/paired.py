"""The noise of a difference between two evaluations of the same rows.

The contribution of a row to a metric is its influence on it: the row's own score if the metric is a mean, otherwise its
first-order effect. Rows that both evaluations answer alike cancel out, so the error of a difference is smaller than
that of either score.
"""

from __future__ import annotations

from math import sqrt

import numpy as np


def paired_error(one: np.ndarray, other: np.ndarray) -> float:
    """The standard error of the difference of two scores, from the contributions of the same rows to each."""
    difference = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    return float(difference.std(ddof=1)) / sqrt(len(difference)) if len(difference) > 1 else 0.0


def correlation_contributions(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The influence of each row on Pearson's correlation; zeros if one side is constant."""
    left, right = (_standardised(side) for side in (true, predicted))
    return np.asarray(left * right - (left * right).mean() * (left**2 + right**2) / 2)


def f1_contributions(true: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The influence of each row on the micro F1 of several labels per text, (n, labels) bool each."""
    hits, both = (true & chosen).sum(axis=1), true.sum(axis=1) + chosen.sum(axis=1)
    total = max(both.sum(), 1)
    return np.asarray((2 * hits - 2 * hits.sum() / total * both) * len(true) / total)


def _standardised(values: np.ndarray) -> np.ndarray:
    centred = np.asarray(values, dtype=np.float64) - np.mean(values)
    spread = float(centred.std())
    return centred / spread if spread > 0 else np.zeros_like(centred)
