"""A run that training continues from, as far as its rows and labels matter. Imports no torch."""

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
    """A run to go on from: its name, its classes, and the hashes of the texts and pairs it was trained on.

    One that was trained on several tasks has a space for each, and none of its own.
    """

    name: str
    space: LabelSpace | None
    seen: np.ndarray
    tasks: Mapping[str, LabelSpace] = field(default_factory=dict)
    table: TableReading = field(default_factory=TableReading)  # its own table
    tables: Mapping[str, TableReading] = field(default_factory=dict)  # those of its tasks

    def of_task(self, task: str) -> Base:
        """As one of its tasks goes on from it; a new task knows its texts only."""
        table = self.tables.get(task, TableReading())
        return replace(self, space=self.tasks.get(task), tasks={}, table=table, tables={})

    @property
    def columns(self) -> Columns | None:
        """The columns of its own table."""
        return None if self.space is None else self.table.columns

    @property
    def reading(self) -> dict[str, Any]:
        """How the labels of its own table were read, by the names of a DataSpec."""
        return {} if self.space is None else {**self.table.labels, **kind_of(self.space).reading(self.space)}

    def knows(self, table: Table) -> np.ndarray:
        """Which rows have a text, or both texts of a pair, that it was trained on."""
        return are_among(table.same, self.seen)
