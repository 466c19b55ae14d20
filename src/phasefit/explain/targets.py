"""What is explained: the log-odds of a label, or the score.

Log-odds and not the probability, because a probability near 1 hardly moves: every word of a clear text would get a
weight near 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.errors import LabelError, did_you_mean
from phasefit.explain.results import Unit
from phasefit.kinds import kind_of
from phasefit.models.predictor import Predictor

LEAST = 1e-12  # probabilities closer to 0 or 1 count as this


@dataclass(frozen=True)
class Task:
    """A task of a model and how its outputs become the numbers that are explained."""

    model: Predictor
    name: str

    @property
    def space(self) -> LabelSpace:
        """Its labels."""
        return self.model.space_of(self.name)

    @property
    def has_classes(self) -> bool:
        """Whether its labels have probabilities."""
        return kind_of(self.space).has_classes

    @property
    def unit(self) -> Unit:
        """The unit of weights."""
        return "log-odds" if self.has_classes else "score"

    @property
    def pairs(self) -> bool:
        """Whether it reads pairs of texts."""
        return self.model.head(self.name).pair is not None

    def code(self, label: Any) -> int:
        """The column of a label, given by its name or as it is."""
        if not self.has_classes:
            raise LabelError("this model predicts scores, which have no labels; remove --label")
        name = label if isinstance(label, str) else self.space.name(label)
        if name not in self.space.names:
            raise LabelError(f"this model has no label '{name}'; {did_you_mean(name, self.space.names)}")
        return self.space.names.index(name)

    def codes(self, outputs: np.ndarray) -> list[list[int]]:
        """The columns to explain for each row: the predicted labels, or else the most probable one."""
        if not self.has_classes:
            return [[0] for _ in outputs]
        predicted = kind_of(self.space).predicted_codes(outputs, self.model.decision(self.name))
        return [
            sorted(codes, key=lambda code: -row[code]) or [int(row.argmax())]
            for codes, row in zip(predicted, outputs, strict=True)
        ]

    def predictions(self, outputs: np.ndarray) -> list[tuple[str, ...]]:
        """The names of the predicted labels of each row, or the score."""
        kind, decision = kind_of(self.space), self.model.decision(self.name)
        if self.has_classes:
            names = self.space.names
            return [tuple(names[code] for code in codes) for codes in kind.predicted_codes(outputs, decision)]
        return [(self.space.name(label),) for label in kind.answers(outputs, self.space, decision) if label is not None]

    def values(self, outputs: np.ndarray) -> np.ndarray:
        """The outputs as numbers to explain, with the same shape: log-odds or scores."""
        if not self.has_classes:
            return np.asarray(outputs, dtype=np.float64)
        likely = np.clip(np.asarray(outputs, dtype=np.float64), LEAST, 1 - LEAST)
        return np.asarray(np.log(likely) - np.log1p(-likely))


def rows_of(texts: Sequence[Any], pairs: bool) -> list[tuple[str, ...]]:
    """The sides of each row; the model itself refuses rows of the wrong form."""
    return [tuple(text) if pairs else (text,) for text in texts]
