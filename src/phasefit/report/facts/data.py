"""The tables that a run was trained and scored on."""

from __future__ import annotations

from phasefit.data.hygiene import Part
from phasefit.prepare.prepare import Prepared

HEAD = ("rows", "repeated", "conflicting", "near-empty", "words", "classes", "largest / smallest class")
BEFORE = "(before the tasks)"  # in the column of task names, which have no parentheses


def part_cells(part: Part) -> list[str]:
    """Return the cells of one table in the order of HEAD."""
    words, classes = part.words, part.classes
    return [
        f"{part.rows:,}",
        f"{part.repeated:,}",
        "" if classes is None else f"{part.conflicting_texts:,}",
        f"{part.near_empty:,}",
        f"{words.least:,} to {words.most:,}, median {words.median:,g}, 95 % up to {words.p95:,}",
        "" if classes is None else f"{len(classes.sizes):,}",
        "" if classes is None else f"{classes.imbalance:,.1f}",
    ]


def data_rows(prepared: Prepared) -> list[list[str]]:
    """Return a row for each table; with several tasks, the name of the task comes first.

    The phases before the tasks are listed only if they have their own tables, not if they reuse the texts of the tasks.
    """
    parts = [[name, *part_cells(part)] for name, part in prepared.hygiene.parts.items()]
    if not prepared.tasks:
        return parts
    rows = [[BEFORE, *cells] for cells in parts] if prepared.before else []
    for task, own in prepared.tasks.items():
        rows += [[task, name, *part_cells(part)] for name, part in own.hygiene.parts.items()]
    return rows
