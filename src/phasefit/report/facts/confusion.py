"""Which classes are confused with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ConfusedPair:
    """Rows of one class that were predicted as another, with the numbers and names of both."""

    true: int
    predicted: int
    true_name: str
    predicted_name: str
    rows: int
    share: float  # of the true class


@dataclass(frozen=True)
class Confusion:
    """Counts (classes, classes): a row is a true class, a column a predicted one."""

    names: Sequence[str]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, confusion: Mapping[str, Any]) -> Confusion:
        """Read `{labels, matrix}` of `metrics.json`."""
        return cls(list(confusion["labels"]), np.asarray(confusion["matrix"], dtype=np.int64))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each count as a share of its true class; 0 where the class has no rows."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    def pairs(self, most: int) -> list[ConfusedPair]:
        """Return the most frequent mistakes; among equals, the largest share of the true class first."""
        totals, shares = self.counts.sum(axis=1), self.shares
        wrong = [(int(true), int(guess)) for true, guess in np.argwhere(self.counts) if true != guess]
        wrong.sort(key=lambda pair: (-self.counts[pair], totals[pair[0]], pair))
        names, counts = self.names, self.counts
        return [
            ConfusedPair(true, guess, names[true], names[guess], int(counts[true, guess]), float(shares[true, guess]))
            for true, guess in wrong[:most]
        ]
