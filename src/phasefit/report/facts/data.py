"""What a run was trained and scored on."""

from __future__ import annotations

from phasefit.data.hygiene import Part
from phasefit.prepare.prepare import Prepared

HEAD = ("rows", "repeated", "conflicting", "near-empty", "words", "classes", "largest / smallest class")
BEFORE = "(before the tasks)"  # beside the names of the tasks, none of which has brackets


def part_cells(part: Part) -> list[str]:
    """What stands below HEAD for one table."""
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
    """A row for each table, of several tasks with the task's name before its own.

    What comes before the tasks is a table of its own, or else only their texts again.
    """
    parts = [[name, *part_cells(part)] for name, part in prepared.hygiene.parts.items()]
    if not prepared.tasks:
        return parts
    rows = [[BEFORE, *cells] for cells in parts] if prepared.before else []
    for task, own in prepared.tasks.items():
        rows += [[task, name, *part_cells(part)] for name, part in own.hygiene.parts.items()]
    return rows
