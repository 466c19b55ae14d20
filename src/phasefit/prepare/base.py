"""The rows and labels of a run that training continues from. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from phasefit.data.columns import Columns
from phasefit.data.equal_texts import are_among
from phasefit.data.labels import LabelSpace
from phasefit.data.table import Table
from phasefit.kinds import kind_of


@dataclass(frozen=True)
class TableReading:
    """How a table was read: its columns, and its labels by the names of a DataSpec."""

    columns: Columns | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Base:
    """A run to continue from: its name, its classes, and the hashes of the texts and pairs it was trained on.

    A run with several tasks has one label space per task, and `space` is None.
    """

    name: str
    space: LabelSpace | None
    seen: np.ndarray
    tasks: Mapping[str, LabelSpace] = field(default_factory=dict)
    table: TableReading = field(default_factory=TableReading)  # the table of a run with one task
    tables: Mapping[str, TableReading] = field(default_factory=dict)  # the tables of several tasks

    def of_task(self, task: str) -> Base:
        """The base for one task; for a new task, only the training texts are known."""
        table = self.tables.get(task, TableReading())
        return replace(self, space=self.tasks.get(task), tasks={}, table=table, tables={})

    @property
    def columns(self) -> Columns | None:
        """The columns of the table of a run with one task."""
        return None if self.space is None else self.table.columns

    @property
    def reading(self) -> dict[str, Any]:
        """How the labels of that table were read, by the names of a DataSpec."""
        return {} if self.space is None else {**self.table.labels, **kind_of(self.space).reading(self.space)}

    def knows(self, table: Table) -> np.ndarray:
        """A mask of the rows whose text, or pair of texts, the run was trained on."""
        return are_among(table.same, self.seen)
