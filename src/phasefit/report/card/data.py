"""What a run says of its data: `data.json` with all of it, and the part of the model card for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.data.hygiene import Hygiene, Part
from phasefit.prepare.notes import data_notes
from phasefit.report.card.markdown import escape, table

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation

HEAD = ("rows", "repeated", "conflicting", "near-empty", "words", "classes", "largest / smallest class")


def data_paragraphs(found: Hygiene, cut: Truncation | None = None) -> list[str]:
    """The tables side by side, and a list of what deserves a look."""
    said = [note.removeprefix("data: ") for note in data_notes(found)]
    if cut is not None:
        said.append(cut.sentence())
    listed = "\n".join(f"- {escape(note)}" for note in said)
    return [table(["", *HEAD], [[name, *part_cells(part)] for name, part in found.parts.items()]), listed]


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
