"""Scores: one number per text or pair of texts, a measurement or a place on a scale of named levels."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Self

import numpy as np

from phasefit.data.checks import Place, is_missing, plain_label
from phasefit.data.labels.space import LabelSpace
from phasefit.data.table import Label
from phasefit.errors import LabelError, did_you_mean

ROWS_IN_BIN = 10
BINS = 10  # groups of scores with about equal numbers of rows, for splits, maps and probes
FEW_NUMBERS = 10  # up to this many distinct decimals may be class names, such as versions
LARGEST = 1e100  # the largest score: squares of larger ones may overflow


class ScoreLabels(LabelSpace):
    """Scores, learned in standard units: `mean` and `spread` are those of the training rows.

    With `levels`, a score is the position of a label among them, from 0, in the order that the user gave.
    """

    kind = "score"

    def __init__(self, edges: Sequence[float], mean: float, spread: float, levels: Sequence[str] = ()) -> None:
        """Create a scale from the edges between the groups, its mean and spread, and optional level names."""
        super().__init__(levels)
        self.edges, self.mean, self.spread = tuple(edges), float(mean), float(spread)
        if not all(map(math.isfinite, (self.mean, self.spread, *self.edges))) or self.spread <= 0:
            raise LabelError("the saved scale of scores is invalid; the file is damaged")

    @classmethod
    def of(cls, labels: Iterable[Label], levels: Sequence[str] = ()) -> ScoreLabels:
        """The scale of these scores."""
        values = as_numbers(labels)
        edges = [place - 0.5 for place in range(1, len(levels))] if levels else _edges(values)
        spread = float(values.std()) if len(values) else 0.0
        return cls(edges, float(values.mean()) if len(values) else 0.0, spread or 1.0, levels)

    @property
    def outputs(self) -> int:
        """1, because a head gives one number per text."""
        return 1

    @property
    def groups(self) -> list[str]:
        """The levels, or ranges of scores."""
        if self.names:
            return self.names
        if not self.edges:
            return ["all"]
        between = [f"{low:g} to {high:g}" for low, high in zip(self.edges, self.edges[1:], strict=False)]
        return [f"below {self.edges[0]:g}", *between, f"from {self.edges[-1]:g}"]

    def __repr__(self) -> str:
        return f"ScoreLabels(mean {self.mean:g}, spread {self.spread:g})"

    def __hash__(self) -> int:
        return hash((self.mean, self.spread, self.edges))

    def name(self, label: Label) -> str:
        """The number in short form, or the name of the level."""
        if isinstance(label, str):
            return label
        if self.levels and isinstance(label, int | float):
            return self.level_of(float(label))
        return f"{label:g}" if isinstance(label, int | float) else str(label)

    @property
    def levels(self) -> tuple[Label, ...]:
        """The names of the levels, lowest first; empty if scores are measurements."""
        return getattr(self, "classes", ())

    def level_of(self, score: float) -> str:
        """The level closest to a score."""
        return str(self.levels[int(np.clip(np.floor(score + 0.5), 0, len(self.levels) - 1))])

    def values(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """The scores, (n,) float64."""
        return as_numbers(labels, where)

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """The group of each score: its level or its range."""
        return np.searchsorted(np.asarray(self.edges), self.values(labels, where), side="right").astype(np.int64)

    def none(self, rows: int) -> np.ndarray:
        """NaN for every row."""
        return np.full(rows, np.nan)

    def class_values(self, codes: np.ndarray) -> np.ndarray:
        """The positions of the levels; LabelError for scores without levels."""
        if not self.levels:
            raise LabelError("scores (kind 'score') have no class names to use as texts; remove class_texts")
        return np.asarray(codes, dtype=np.float64)

    def targets(self, values: np.ndarray) -> np.ndarray:
        """The groups: texts with scores in the same range belong together."""
        return np.searchsorted(np.asarray(self.edges), values, side="right").astype(np.int64)

    def knows(self, label: Label) -> bool:
        """Whether the label is a finite number."""
        return isinstance(label, int | float) and math.isfinite(label)

    def extend(self, labels: Iterable[Label]) -> LabelSpace:
        """The same space: new scores do not change the scale."""
        return self

    def standard(self, values: np.ndarray) -> np.ndarray:
        """Standardised scores for training a head: mean 0 and spread 1 over the training rows."""
        return np.asarray((values - self.mean) / self.spread)

    def from_standard(self, values: np.ndarray) -> np.ndarray:
        """The outputs of a head as scores."""
        return np.asarray(values * self.spread + self.mean)

    def to_json(self) -> dict[str, Any]:
        """The scale."""
        scale = {"mean": self.mean, "spread": self.spread, "edges": list(self.edges)}
        return {"kind": self.kind, **scale, "levels": list(self.levels)}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        """The scale that `to_json` wrote."""
        try:
            levels = [str(level) for level in data["levels"]]
            return cls([float(edge) for edge in data["edges"]], float(data["mean"]), float(data["spread"]), levels)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LabelError("the saved scale of scores is incomplete; the file is damaged") from error


def _edges(values: np.ndarray) -> list[float]:
    """The lower edges of groups of about equal size, except the first; at least two groups if scores differ."""
    if len(np.unique(values)) < 2:
        return []
    bins = int(np.clip(len(values) // ROWS_IN_BIN, 2, BINS))  # so that each group is in every split
    cuts = np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1], method="lower")
    above = {float(cut) for cut in cuts} - {float(values.min())}
    return sorted(above or {float(values[values > values.min()].min())})


def as_numbers(labels: Iterable[Any], where: str = "labels") -> np.ndarray:
    """Scores as float64; LabelError with the row for any other value."""
    scores = []
    for row, label in enumerate(labels, start=1):
        is_number = isinstance(label, int | float | np.number) and not isinstance(label, bool)
        if not is_number or not abs(label) <= LARGEST:
            raise LabelError(f"{where}, row {row}: {label!r:.40} is not a score; scores are numbers up to {LARGEST:g}")
        scores.append(float(label))
    return np.asarray(scores, dtype=np.float64)


def are_scores(different: Collection[Any]) -> bool:
    """Whether labels look like scores: decimal numbers, or many distinct strings that are numbers, some decimal."""
    if any(isinstance(value, float | np.floating) and not float(value).is_integer() for value in different):
        return True
    names = [value for value in different if isinstance(value, str)]
    if len(names) < len(different) or len(names) <= FEW_NUMBERS:
        return False
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return all(map(math.isfinite, numbers)) and not all(number.is_integer() for number in numbers)


def read_score(value: Any, place: Place, row: int, levels: Sequence[str]) -> float:
    """The score in a cell; with levels, the position of the name among them."""
    if isinstance(value, list | set | frozenset | np.ndarray | tuple):
        raise LabelError(f"{place.row(row)}: expected one number as the score, found a list")
    if is_missing(value):
        raise LabelError(f"{place.row(row)}: the score is missing; fill it in or remove the row")
    if levels:
        name = str(plain_label(value, place, row)).strip()
        if name not in levels:
            raise LabelError(f"{place.row(row)}: '{name}' is not one of the levels; {did_you_mean(name, levels)}")
        return float(levels.index(name))
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise LabelError(
            f"{place.row(row)}: {value!r:.40} is not a number; for named levels state the order: --levels bad,fair,good"
        )
    return number
