"""The standard error of scores and of their differences that is due to the number of scored rows. Imports no torch.

From the jackknife replicates of each run. Results without them are approximated: shares by the binomial distribution,
correlations by Fisher's formula, differences of shares by the least possible number of rows on which two models
disagree, and those of correlations as if the two models had nothing in common, so that small ones prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from phasefit.metrics.jackknife import FEWEST, GROUPS, standard_error
from phasefit.metrics.registry import metric_at
from phasefit.studies.result import Result

SHARE, CORRELATION = (0.0, 1.0), (-1.0, 1.0)  # bounds of metrics
Run = tuple[float, Result]  # a score and its result
EQUAL = 1e-12


def same_rows(runs: Sequence[Run], split: str) -> bool:
    """Whether all repetitions are scored on the same rows, so that they share their luck with them."""
    own = [result.own_validation if split == "validation" else result.own_test for _, result in runs]
    return all(one is True for one in own)


def row_groups(runs: Sequence[Run], metric: str) -> int:
    """The number of groups of rows that the jackknife leaves out, which is at most that of the rows."""
    rows = _rows(runs, metric)
    return GROUPS if rows is None else max(min(GROUPS, rows), FEWEST)


def row_error(runs: Sequence[Run], metric: str) -> float | None:
    """The error of the mean score if repetitions share rows, otherwise that of one repetition; None if unknown."""
    parts = [_replicates(result, metric) for _, result in runs]
    known = _combined(parts, shared=same_rows(runs, metric.partition(".")[0]))
    mean, rows, bounds = float(np.mean([value for value, _ in runs])), _rows(runs, metric), metric_at(metric).bounds
    if rows is None or (known is not None and known > EQUAL):
        return known
    if bounds == SHARE:  # all right or all wrong is no proof: two more of each (Agresti and Coull)
        share = (mean * rows + 2) / (rows + 4)
        return sqrt(share * (1 - share) / (rows + 4))
    return _fisher(mean, rows) if bounds == CORRELATION else known


def difference_error(runs: Sequence[Run], base: Sequence[Run], metric: str) -> float | None:
    """The same for the paired difference between two variants, on the same rows."""
    pairs = [
        (_replicates(one, metric), _replicates(other, metric)) for (_, one), (_, other) in zip(runs, base, strict=True)
    ]
    parts = [
        None if one is None or other is None or len(one) != len(other) else np.subtract(one, other)
        for one, other in pairs
    ]
    known = _combined(parts, shared=same_rows(runs, metric.partition(".")[0]))
    rows, bounds = _rows(runs, metric), metric_at(metric).bounds
    if rows is not None and known is None and bounds == CORRELATION:
        means = [float(np.mean([value for value, _ in side])) for side in (runs, base)]
        return sqrt(sum(_fisher(mean, rows) ** 2 for mean in means))
    if rows is None or bounds != SHARE:
        return known
    if known is None:
        gain = abs(float(np.mean([one - other for (one, _), (other, _) in zip(runs, base, strict=True)])))
        known = sqrt(max(gain - gain**2, 0.0) / rows)
    return max(known, 1 / (rows + 2))  # equal answers are no proof either (Agresti and Min)


def _fisher(correlation: float, rows: int) -> float:
    """The standard error of a correlation."""
    return (1 - min(abs(correlation), 1.0) ** 2) / sqrt(max(rows - 1, 1))


def _combined(parts: Sequence[np.ndarray | None], *, shared: bool) -> float | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({len(part) for part in known}) != 1:
        return None
    if shared:
        return standard_error(np.mean(known, axis=0).tolist())
    return sqrt(float(np.mean([standard_error(part.tolist()) ** 2 for part in known])))


def _replicates(result: Result, metric: str) -> np.ndarray | None:
    split, _, name = metric.partition(".")
    values: Mapping[str, Sequence[float]] = result.replicates if split == "test" else {}
    return np.asarray(values[name]) if values.get(name) else None


def _rows(runs: Sequence[Run], metric: str) -> int | None:
    """The least number of scored rows; None if unknown, e.g. for several tasks."""
    split = metric.partition(".")[0]
    counts = [result.rows.get(split) or result.metrics.get(split, {}).get("rows") for _, result in runs]
    known = [count for count in counts if isinstance(count, int) and count > 0]
    return min(known) if len(known) == len(counts) else None
