"""The figures of the checks, and the limits that they must keep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from phasefit.metrics.registry import METRICS

Precision: TypeAlias = Literal["fp32", "int8"]

MOST_DIFFERENCE = 1e-4  # of fp32 outputs from those of torch
MOST_LOSS = 0.5  # points that int8 may lose
LABELLED = 400  # rows: with fewer, a difference of half a point means nothing, and decisions are compared
LEAST_EQUAL = 0.99  # share of equal decisions of int8 on fewer rows
LEAST_COSINE = 0.99  # mean cosine of int8 embeddings with those of torch, for encoders without a head
LEAST_SPEED = 1.5  # times as fast as torch
SLACK = 1e-9  # of sums in binary


@dataclass(frozen=True)
class TaskFigures:
    """How one task agrees with torch."""

    rows: int
    difference: float  # the largest of any output; of scores in standard units
    equal: int  # rows with the same decision
    ties: int  # rows whose decision differs because torch itself is within the tolerance of both
    metric: str = ""
    labelled: int = 0
    before: float | None = None
    after: float | None = None

    @property
    def equal_share(self) -> float:
        """The share of rows with the same decision; ties count as equal."""
        return (self.equal + self.ties) / max(self.rows, 1)

    @property
    def loss(self) -> float | None:
        """Points that the score falls; None without labels."""
        if self.before is None or self.after is None:
            return None
        return 100 * (self.before - self.after)


@dataclass(frozen=True)
class Figures:
    """All figures of one export."""

    precision: Precision
    tasks: Mapping[str, TaskFigures]
    texts: int  # whose embeddings were compared
    embedding_difference: float
    cosine: float  # the mean, of embeddings
    wild_rows: int
    wild_difference: float
    speed: Mapping[int, float] = field(default_factory=dict)  # times as fast as torch, by batch size
    variant: str = ""  # what stays in float32, in words
    size: int = 0  # bytes of the engine's files

    def problems(self) -> list[str]:
        """Why this export must not be written; each is a part of a sentence."""
        return [*self.inaccuracies(), *self.slowness()]

    def inaccuracies(self) -> list[str]:
        """What is too different from torch."""
        differences = [self.embedding_difference, self.wild_difference, *(one.difference for one in self._each)]
        if not all(map(math.isfinite, differences)):
            return ["some outputs are not numbers"]
        if self.precision == "fp32":
            return self._unequal(max(differences))
        found = [] if self.tasks or self.cosine >= LEAST_COSINE - SLACK else [_cosine_problem(self.cosine)]
        for name, one in self.tasks.items():
            of = f" of task '{name}'" if len(self.tasks) > 1 else ""
            if one.loss is not None and one.labelled >= LABELLED:
                if one.loss > MOST_LOSS + SLACK:
                    found.append(_loss_problem(one, of))
            elif one.equal_share < LEAST_EQUAL - SLACK:
                found.append(
                    f"only {100 * one.equal_share:.1f} % of the {one.rows:,} decisions{of} equal those of torch (at "
                    f"least {100 * LEAST_EQUAL:.0f} % are required with fewer than {LABELLED} labelled rows)"
                )
        return found

    def slowness(self) -> list[str]:
        """What is too slow; only int8 is meant to be faster."""
        if self.precision == "fp32":
            return []
        return [
            f"at batch size {batch} it is only {ratio:.2f} times as fast as torch (at least {LEAST_SPEED} is required)"
            for batch, ratio in self.speed.items()
            if not ratio >= LEAST_SPEED - SLACK
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        content = asdict(self) | {"speed": {str(batch): round(ratio, 3) for batch, ratio in self.speed.items()}}
        return {name: _finite(value) for name, value in content.items() if name != "precision" and value != ""}

    @property
    def _each(self) -> list[TaskFigures]:
        return list(self.tasks.values())

    def _unequal(self, difference: float) -> list[str]:
        found = []
        if difference > MOST_DIFFERENCE:
            found.append(f"outputs differ from those of torch by {difference:.2g} (at most {MOST_DIFFERENCE:g})")
        other = sum(one.rows - one.equal - one.ties for one in self._each)
        if other:
            found.append(f"{other:,} of {sum(one.rows for one in self._each):,} decisions differ from those of torch")
        return found


def _loss_problem(one: TaskFigures, of: str) -> str:
    assert one.before is not None
    assert one.after is not None
    title = METRICS[one.metric].title if one.metric in METRICS else one.metric
    return (
        f"{title}{of} falls from {100 * one.before:.2f} to {100 * one.after:.2f} on {one.labelled:,} rows (at most "
        f"{MOST_LOSS} points are allowed)"
    )


def _cosine_problem(cosine: float) -> str:
    return f"the mean cosine with torch's embeddings is only {cosine:.4f} (at least {LEAST_COSINE} is required)"


def _finite(value: Any) -> Any:
    """The value with null in place of numbers that JSON cannot express."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
