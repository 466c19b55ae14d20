"""The rows that an export is checked on and calibrated with: those of the run, or of a table that the user passes.

Checked are validation and test rows, which the model was not trained on; calibration uses training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.columns import Sides
from phasefit.data.sources import read_table
from phasefit.data.table import Table
from phasefit.data.task_file import is_task_file, read_task_file
from phasefit.errors import DataError
from phasefit.kinds import kind_of
from phasefit.models.predictor import TASK
from phasefit.prepare.splitting import known_only
from phasefit.runs.rows_again import read_rows_again
from phasefit.seeds import generator

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.prepare.prepare import Prepared
    from phasefit.runs.run import Run

MOST_CHECKED = 1000  # rows per task
MOST_CALIBRATED = 300
LEAST = 20  # rows: with fewer, a comparison means nothing


@dataclass(frozen=True)
class CheckRows:
    """The tables of each task; an encoder without a head has one of single texts, called 'default'."""

    checked: Mapping[str, Table]
    calibration: Mapping[str, Table]
    trained: Mapping[str, Table] = field(default_factory=dict)  # all rows that `--with-texts` may write
    source: str = ""  # where they come from, in words

    def __post_init__(self) -> None:
        rows = sum(map(len, self.checked.values()))
        if rows < LEAST:
            raise DataError(f"{self.source} has only {rows} rows to check the export on; pass at least {LEAST}")


def rows_of_run(run: Run, listen: Listener) -> CheckRows:
    """The rows of the run itself."""
    prepared = read_rows_again(run, listen)
    tasks = {name: prepared.tasks[name] for name in run.heads if name in prepared.tasks} or {TASK: prepared}
    names = list(run.heads) or [TASK]
    if len(tasks) == 1:
        tasks = {names[0]: next(iter(tasks.values()))}
    checked = {name: _sample(_held_out(one), MOST_CHECKED) for name, one in tasks.items()}
    trained = {name: one.train for name, one in tasks.items()}
    return _of(run, checked, trained, f"the table of the run '{run.source}'")


def rows_of_file(run: Run, source: str) -> CheckRows:
    """The rows of a table, or of the tables of a task file; labels are optional."""
    where = f"'{source}'"
    if is_task_file(source):
        specs = {spec.name: spec for spec in read_task_file(source).tasks if spec.name in run.heads}
        tables = {name: _read(run, name, spec.part("test"), spec.options()) for name, spec in specs.items()}
    else:
        tables = {name: _read(run, name, source, {}) for name in [*run.heads][:1] or [TASK]}
    missing = [name for name in run.heads if name not in tables]
    if missing:
        raise DataError(f"{where} has no table for the task '{missing[0]}' of the run; pass a task file with all tasks")
    parts = {name: _parted(table) for name, table in tables.items()}
    checked = {name: _sample(part[0], MOST_CHECKED) for name, part in parts.items()}
    return _of(run, checked, {name: part[1] for name, part in parts.items()}, where)


def _of(run: Run, checked: Mapping[str, Table], trained: Mapping[str, Table], source: str) -> CheckRows:
    if not run.heads:  # an encoder reads single texts, whatever it was trained on
        checked, trained = ({name: table.flat() for name, table in part.items()} for part in (checked, trained))
        checked = {name: _sample(table, MOST_CHECKED) for name, table in checked.items()}
    calibration = {name: _sample(table, MOST_CALIBRATED) for name, table in trained.items()}
    return CheckRows(checked, calibration, trained, source)


def _held_out(prepared: Prepared) -> Table:
    """Validation and test rows; training rows if there are none."""
    tables = [table for table in (prepared.validation, prepared.test) if table is not None and len(table)]
    labelled = [table for table in tables if table.labels is not None] or tables
    return joined(labelled) if labelled else prepared.train


def joined(tables: list[Table]) -> Table:
    """The rows of all tables, which have the same columns."""
    first = tables[0]
    labels: Any = None
    if all(table.labels is not None for table in tables):
        labels = [label for table in tables for label in table.labels or ()]
    sides = [[text for table in tables for text in table.sides[place]] for place in range(len(first.sides))]
    return Table(first.name, sides[0], labels, others=tuple(sides[1:]), levels=first.levels, kind=first.kind)


def _read(run: Run, task: str, source: str, options: Mapping[str, Any]) -> Table:
    reading, pairs = run.table(task), run.takes_pairs(task)
    given = {name: value for name, value in options.items() if value}
    own: dict[str, Any] = {}
    if not run.heads:
        given["label"] = ()
    elif not any(name in given for name in ("kind", "tree", "separator", "levels")):
        own = {**reading.labels, **kind_of(run.spaces[task]).reading(run.spaces[task])}
    sides: Sides = "pairs" if pairs else "one" if run.heads else "each"
    usual = reading.columns if not run.heads or (reading.columns and bool(reading.columns.others) == pairs) else None
    table = read_table(source, split="test", usual=usual, sides=sides, need_labels=False, **{**own, **given})
    if run.heads and table.labels is not None:
        table = known_only(table, run.spaces[task], "drop", []) or table
    return table


def _parted(table: Table) -> tuple[Table, Table]:
    """Rows to check and rows to calibrate with: a third, so that no row is used for both."""
    order = generator(0, "export", "parts").permutation(len(table))
    calibrated = min(MOST_CALIBRATED, len(table) // 3)
    return table.take(np.sort(order[calibrated:])), table.take(np.sort(order[:calibrated]))


def _sample(table: Table, most: int) -> Table:
    if len(table) <= most:
        return table
    return table.take(np.sort(generator(0, "export", "sample").permutation(len(table))[:most]))
