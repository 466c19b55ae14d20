"""Means with intervals, paired tests corrected for shared rows, and ranks.

Repetitions that split test rows off the same table (folds, or one split per seed) train on each other's test rows; a
plain t test then reports false differences. Nadeau and Bengio (2003) increase the variance by the ratio of test rows to
training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy import stats

LEVEL = 0.95
EQUAL = 1e-12  # a smaller spread counts as zero


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions, their standard deviation and the interval of the mean; one repetition has neither."""

    n: int
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Difference:
    """A paired difference of means with its interval and p value."""

    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None


def estimate(values: Sequence[float], overlap: float = 0.0, bounds: tuple[float, float] = (-inf, inf)) -> Estimate:
    """The mean of repetitions with its t interval; `overlap` is the test rows per training row if they share rows.

    `bounds` are the bounds of the metric: with few repetitions the interval would exceed them.
    """
    mean, half, sd = _mean_and_half(values, overlap)
    if half is None or sd is None or sd < EQUAL:  # identical repetitions give no interval
        return Estimate(len(values), mean, sd)
    return Estimate(len(values), mean, sd, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def paired(values: Sequence[float], base: Sequence[float], overlap: float = 0.0) -> Difference:
    """Difference from the base, paired by repetition (corrected resampled t test)."""
    gains = np.asarray(values, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    mean, half, sd = _mean_and_half(gains.tolist(), overlap)
    if half is None or sd is None or sd < EQUAL:
        return Difference(mean)
    p = float(2 * stats.t.sf(abs(mean) / _error(len(gains), sd, overlap), len(gains) - 1))
    return Difference(mean, mean - half, mean + half, p)


def holm(p_values: Sequence[float | None], comparisons: int | None = None) -> list[float | None]:
    """P values corrected for multiple comparisons (Holm, 1979).

    `comparisons` includes those without a p value, where all repetitions gave the same difference.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest, total = 0.0, len(known) if comparisons is None else max(comparisons, len(known))
    for rank, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, p * (total - rank)))
        corrected[index] = largest
    return corrected


def wilcoxon(values: Sequence[float], base: Sequence[float]) -> float | None:
    """P value of the signed-rank test over datasets (Demsar, 2006); None for one dataset, 1 if all are equal."""
    gains = np.asarray(values, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    if len(gains) < 2:
        return None
    if np.allclose(gains, 0):
        return 1.0
    return float(stats.wilcoxon(gains, zero_method="zsplit", method="auto").pvalue)


def ranks(values: Sequence[float]) -> list[float]:
    """Rank of each value, 1 for the largest; ties share the mean rank."""
    return [float(rank) for rank in stats.rankdata([-value for value in values])]


def _mean_and_half(values: Sequence[float], overlap: float) -> tuple[float, float | None, float | None]:
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    sd = float(np.std(values, ddof=1))
    width = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1))
    return mean, width * _error(len(values), sd, overlap), sd


def _error(n: int, sd: float, overlap: float) -> float:
    return sd * sqrt(1 / n + overlap)
