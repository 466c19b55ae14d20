"""What a model said of the rows that no phase trained on, row by row: what a report shows of mistakes and labels."""

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
"""By split and task the (n, classes) probabilities, or the (n, 1) scores; a run of one task has one without a name."""

SPLITS = ("validation", "test")


@dataclass(frozen=True)
class HeldOut:
    """The rows of one split and task, their labels, and what the model said of them."""

    split: str
    table: Table
    space: LabelSpace  # with the labels that only this table has, behind those that the model knows
    decision: Decision
    outputs: np.ndarray  # a column for each class of the space; those that the model does not know are 0

    @cached_property
    def labels(self) -> list[Label]:
        """The labels as they were given."""
        return list(labels_of(self.table))

    @cached_property
    def values(self) -> np.ndarray:
        """The labels as metrics see them: codes, (n, classes) bool, or scores."""
        return self.space.values(labels_of(self.table), where=self.table.name)

    def texts(self, row: int) -> tuple[str, ...]:
        """The text of a row, or those of a pair."""
        return tuple(side[row] for side in self.table.sides)

    def number(self, row: int) -> int:
        """The row's number in what was read, from 1."""
        return int(self.table.row_numbers(np.array([row]))[0])


def held_out(prepared: Prepared, decision: Mapping[str, Any], outputs: Outputs, task: str) -> list[HeldOut]:
    """The rows of one task that were scored; `prepared` is the task's own, `decision` as `metrics.json` has it."""
    scored = []
    for split in SPLITS:
        table, own = getattr(prepared, split), outputs.get(split, {}).get(task)
        if table is None or table.labels is None or own is None or len(own) != len(table):
            continue
        space = prepared.space.extend(labels_of(table))
        widened = kind_of(space).widened(own, space)
        scored.append(HeldOut(split, table, space, Decision.from_json(decision), widened))
    return scored
