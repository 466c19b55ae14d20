"""Intervals on one set of the league: its few draws borrow their variance from the other sets.

Two or three draws of a set have almost no degrees of freedom, so a t test per set finds nothing. The variance between
draws is therefore pooled over the sets of a regime. The variance due to the scored rows, which all draws of a set
share, comes from the jackknife and is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

from phasefit.metrics.jackknife import GROUPS, replicates, standard_error
from phasefit.studies.statistics import LEVEL, Difference


@dataclass(frozen=True)
class Spread:
    """The variance between draws and its degrees of freedom."""

    variance: float
    degrees: int


def pooled(values: Sequence[Sequence[float]]) -> Spread | None:
    """The variance of values within groups (draws within sets); None if every group has one value."""
    degrees = sum(len(group) - 1 for group in values)
    if not degrees:
        return None
    return Spread(
        sum((len(group) - 1) * float(np.var(group, ddof=1)) for group in values if len(group) > 1) / degrees, degrees
    )


def average(spreads: Sequence[Spread | None]) -> Spread | None:
    """The mean variance, for a contestant with one draw per set; with the fewest degrees of freedom of all."""
    known = [one for one in spreads if one is not None]
    if not known:
        return None
    return Spread(float(np.mean([one.variance for one in known])), min(one.degrees for one in known))


def with_interval(answers: np.ndarray, spread: Spread | None) -> Difference:
    """The mean of (draws, rows) values with its interval and its p value for a mean of zero.

    Without a spread only the scored rows count.
    """
    draws, rows = answers.shape
    parts = replicates(lambda chosen: {"mean": float(answers[:, chosen].mean())}, rows)
    luck = max(standard_error(parts["mean"]) if parts else 0.0, 1 / (rows + 2)) ** 2  # equal answers are no proof
    between = 0.0 if spread is None else spread.variance / draws
    weight = luck**2 / (GROUPS - 1) + (0.0 if spread is None else between**2 / spread.degrees)
    degrees = (luck + between) ** 2 / weight  # Welch and Satterthwaite
    mean, error = float(answers.mean()), sqrt(luck + between)
    half = float(stats.t.ppf((1 + LEVEL) / 2, degrees)) * error
    return Difference(mean, mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, degrees)))
