"""How well probabilities match accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phasefit.metrics.classification import wilson_interval


@dataclass(frozen=True)
class Bin:
    """Predictions with similar confidence: their number, mean confidence and accuracy."""

    start: float
    end: float
    rows: int
    confidence: float
    accuracy: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy."""
        return wilson_interval(round(self.accuracy * self.rows), self.rows)


@dataclass(frozen=True)
class Calibration:
    """The bins of a reliability diagram."""

    bins: Sequence[Bin]

    @classmethod
    def of(cls, bins: Sequence[Mapping[str, Any]]) -> Calibration:
        """Read `calibration` of `metrics.json`."""
        keys = ("from", "to", "rows", "confidence", "accuracy")
        return cls([Bin(*(one[key] for key in keys)) for one in bins])

    @property
    def rows(self) -> int:
        """The number of rows in all bins."""
        return sum(one.rows for one in self.bins)

    @property
    def verdict(self) -> str:
        """The overall calibration in words."""
        rows = self.rows
        if not rows:
            return "no rows"
        confidence = sum(one.confidence * one.rows for one in self.bins) / rows
        accuracy = sum(one.accuracy * one.rows for one in self.bins) / rows
        low, high = wilson_interval(round(accuracy * rows), rows)
        means = f"Mean confidence {confidence:.1%}, accuracy {accuracy:.1%}: "
        if low <= confidence <= high:
            count = "1 row" if rows == 1 else f"{rows:,} rows"
            return f"{means}well calibrated\n(the difference is within noise for {count})."
        return means + ("overconfident." if confidence > accuracy else "underconfident.")
