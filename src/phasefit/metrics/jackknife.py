"""How much a score depends on which rows were scored: the delete-a-group jackknife, for any metric.

The rows are divided into groups that depend only on their number. Each replicate is the score without one group, so two
models with the same test rows can be compared group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from phasefit.seeds import generator

GROUPS = 20
FEWEST = 2  # rows


def replicates(score: Callable[[np.ndarray], Mapping[str, Any]], rows: int) -> dict[str, list[float]]:
    """The scores without each group, by metric; `score` gets row numbers. Metrics that are undefined once are left out.

    Empty with fewer than two rows.
    """
    if rows < FEWEST:
        return {}
    groups = generator(rows, "jackknife").permutation(np.arange(rows) % min(GROUPS, rows))
    scores = [score(np.flatnonzero(groups != group)) for group in range(min(GROUPS, rows))]
    names = [name for name, value in scores[0].items() if _is_number(value) and name != "rows"]
    return {
        name: [float(one[name]) for one in scores] for name in names if all(_is_number(one.get(name)) for one in scores)
    }


def standard_error(values: Sequence[float]) -> float:
    """The standard error of a score from its replicates."""
    return float(sqrt((len(values) - 1) * np.var(values)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
