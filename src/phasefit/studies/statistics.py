"""Means with intervals, paired tests corrected for shared rows, and ranks.

Repetitions that split test rows off the same table (folds, or one split per seed) train on each other's test rows; a
plain t test then reports false differences. Nadeau and Bengio (2003) increase the variance by the ratio of test rows to
training rows.

Repetitions that are scored on the same test rows share their luck with them, which their spread does not show: the
variance due to the rows is added. If each repetition has its own test rows, its variance is at least that of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy import stats

from phasefit.metrics.jackknife import GROUPS

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


@dataclass(frozen=True)
class RowError:
    """The standard error due to the scored rows: of the mean if repetitions share them, else of one repetition.

    `groups` of rows were left out in turn to compute it; with few rows there are few, and the error is less certain.
    """

    error: float
    shared: bool = False
    groups: int = GROUPS


def estimate(
    values: Sequence[float],
    overlap: float = 0.0,
    bounds: tuple[float, float] = (-inf, inf),
    rows: RowError | None = None,
) -> Estimate:
    """The mean of repetitions with its t interval; `overlap` is the test rows per training row if they share rows.

    `bounds` are the bounds of the metric: with few repetitions the interval would exceed them. Identical repetitions
    have an interval only if the error of the rows is known.
    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(len(values), mean)
    sd = float(np.std(values, ddof=1))
    errors = _errors(len(values), sd, overlap, rows)
    if not errors:
        return Estimate(len(values), mean, sd)
    half = _half(errors)
    return Estimate(len(values), mean, sd, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def paired(
    values: Sequence[float], base: Sequence[float], overlap: float = 0.0, rows: RowError | None = None
) -> Difference:
    """Difference from the base, paired by repetition (corrected resampled t test)."""
    gains = np.asarray(values, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    mean = float(np.mean(gains))
    if len(gains) < 2:
        return Difference(mean)
    errors = _errors(len(gains), float(np.std(gains, ddof=1)), overlap, rows)
    if not errors:
        return Difference(mean, p=1.0 if abs(mean) < EQUAL else None)
    half = _half(errors)
    p = max(float(2 * stats.t.sf(abs(mean) / error, degrees)) for error, degrees in errors)
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
    """Rank of each value, 1 for the largest; ties share the mean rank. Rounding errors of means do not count."""
    return [float(rank) for rank in stats.rankdata([-round(value, 10) for value in values])]


def _half(errors: Sequence[tuple[float, float]]) -> float:
    """Half the width of the interval: the widest of those that the errors give."""
    return max(float(stats.t.ppf((1 + LEVEL) / 2, degrees)) * error for error, degrees in errors)


def _errors(n: int, sd: float, overlap: float, rows: RowError | None) -> list[tuple[float, float]]:
    """Standard errors of a mean above zero, each with its degrees of freedom: of the repetitions, and with the rows.

    Both count, so that the interval is never narrower than the repetitions alone give.
    """
    share = 1 / n + overlap
    errors = [(sd * sqrt(share), float(n - 1))]
    if rows is not None and not rows.shared:
        errors.append((rows.error * sqrt(share), float(rows.groups - 1)))
    elif rows is not None and rows.error > EQUAL:
        seeds, luck = sd**2 * share, rows.error**2
        degrees = (seeds + luck) ** 2 / (seeds**2 / (n - 1) + luck**2 / (rows.groups - 1))  # Welch and Satterthwaite
        errors.append((sqrt(seeds + luck), degrees))
    return [(error, degrees) for error, degrees in errors if error >= EQUAL]
