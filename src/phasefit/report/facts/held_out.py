"""The model's outputs for each held-out row: the source of the lists of mistakes and of labels to check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.table import Label, Table
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.prepare.prepare import Prepared
from phasefit.prepare.splitting import labels_of

Outputs = Mapping[str, Mapping[str, np.ndarray]]
"""Probabilities (n, classes) or scores (n, 1) by split and task; a run with one task uses the default task name."""

SPLITS = ("validation", "test")


@dataclass(frozen=True)
class HeldOut:
    """The rows of one split and task, their labels, and the outputs of the model."""

    split: str
    table: Table
    space: LabelSpace  # the labels of the model, then those that only this table has
    decision: Decision
    outputs: np.ndarray  # a column for each class of the space; 0 for classes that the model lacks

    @cached_property
    def labels(self) -> list[Label]:
        """The labels as they were given."""
        return list(labels_of(self.table))

    @cached_property
    def values(self) -> np.ndarray:
        """The labels as metrics use them: codes, (n, classes) bool, or scores."""
        return self.space.values(labels_of(self.table), where=self.table.name)

    def texts(self, row: int) -> tuple[str, ...]:
        """Return the text of a row, or both texts of a pair."""
        return tuple(side[row] for side in self.table.sides)

    def number(self, row: int) -> int:
        """Return the number of the row in the table that was read, starting at 1."""
        return int(self.table.row_numbers(np.array([row]))[0])


def held_out(prepared: Prepared, decision: Mapping[str, Any], outputs: Outputs, task: str) -> list[HeldOut]:
    """Return the scored rows of one task; `prepared` belongs to the task, `decision` is that of `metrics.json`."""
    scored = []
    for split in SPLITS:
        table, values = getattr(prepared, split), outputs.get(split, {}).get(task)
        if table is None or table.labels is None or values is None or len(values) != len(table):
            continue
        space = prepared.space.extend(labels_of(table))
        widened = kind_of(space).widened(values, space)
        scored.append(HeldOut(split, table, space, Decision.from_json(decision), widened))
    return scored
