"""Whether a difference is real: means with intervals, paired tests that know of shared rows, ranks.

Repetitions that cut their test from one table (folds, or a split for each seed) train on each other's test rows; a
plain t test then finds differences that are not there. Nadeau and Bengio (2003) widen the variance by the test rows per
training row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy import stats

LEVEL = 0.95
EQUAL = 1e-12  # a spread below this is none


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions, their spread, and the interval that the mean lies in; one repetition has neither."""

    n: int
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Difference:
    """A paired difference of means with its interval and the chance of one as large where there is none."""

    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None


def estimate(values: Sequence[float], overlap: float = 0.0, bounds: tuple[float, float] = (-inf, inf)) -> Estimate:
    """The mean of repetitions, with Student's interval; `overlap`: test rows per training row if they share any.

    `bounds` is what the figure can be: an interval around few repetitions may reach beyond.
    """
    mean, half, sd = _mean_and_half(values, overlap)
    if half is None or sd is None or sd < EQUAL:  # equal repetitions say nothing of how far others would differ
        return Estimate(len(values), mean, sd)
    return Estimate(len(values), mean, sd, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def paired(values: Sequence[float], base: Sequence[float], overlap: float = 0.0) -> Difference:
    """How much higher than the base, repetition by repetition (the corrected resampled t test)."""
    gains = np.asarray(values, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    mean, half, sd = _mean_and_half(gains.tolist(), overlap)
    if half is None or sd is None or sd < EQUAL:
        return Difference(mean)
    p = float(2 * stats.t.sf(abs(mean) / _error(len(gains), sd, overlap), len(gains) - 1))
    return Difference(mean, mean - half, mean + half, p)


def holm(chances: Sequence[float | None], comparisons: int | None = None) -> list[float | None]:
    """Several comparisons at once: Holm's (1979) larger chances, so that looking often finds nothing.

    `comparisons` counts those too that have no chance, because all repetitions gave the same difference.
    """
    known = sorted((p, place) for place, p in enumerate(chances) if p is not None)
    corrected: list[float | None] = [None] * len(chances)
    largest, many = 0.0, len(known) if comparisons is None else max(comparisons, len(known))
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (many - rank)))
        corrected[place] = largest
    return corrected


def wilcoxon(values: Sequence[float], base: Sequence[float]) -> float | None:
    """The signed-rank test over datasets (Demsar, 2006); None below two, 1 where nothing differs."""
    gains = np.asarray(values, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    if len(gains) < 2:
        return None
    if np.allclose(gains, 0):
        return 1.0
    return float(stats.wilcoxon(gains, zero_method="zsplit", method="auto").pvalue)


def ranks(values: Sequence[float]) -> list[float]:
    """1 for the best, halves where some tie."""
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
