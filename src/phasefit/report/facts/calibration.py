"""Whether probabilities mean what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phasefit.metrics.classification import wilson_interval


@dataclass(frozen=True)
class Bin:
    """Predictions of about one confidence: how many, how sure in the mean, and the share that is right."""

    start: float
    end: float
    rows: int
    confidence: float
    accuracy: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share that is right."""
        return wilson_interval(round(self.accuracy * self.rows), self.rows)


@dataclass(frozen=True)
class Calibration:
    """The bins of a reliability diagram."""

    bins: Sequence[Bin]

    @classmethod
    def of(cls, bins: Sequence[Mapping[str, Any]]) -> Calibration:
        """Out of `calibration` of `metrics.json`."""
        keys = ("from", "to", "rows", "confidence", "accuracy")
        return cls([Bin(*(one[key] for key in keys)) for one in bins])

    @property
    def rows(self) -> int:
        """Of all bins."""
        return sum(one.rows for one in self.bins)

    @property
    def verdict(self) -> str:
        """What the diagram says on the whole, in words."""
        rows = self.rows
        if not rows:
            return "no rows"
        confidence = sum(one.confidence * one.rows for one in self.bins) / rows
        accuracy = sum(one.accuracy * one.rows for one in self.bins) / rows
        low, high = wilson_interval(round(accuracy * rows), rows)
        means = f"It is {confidence:.1%} sure on average and right in {accuracy:.1%}: "
        if low <= confidence <= high:
            return f"{means}as far as {rows:,} rows tell,\nit is as sure as it should be."
        return means + ("surer than it should be." if confidence > accuracy else "less sure than it could be.")
