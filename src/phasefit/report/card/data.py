"""What a run says of its data: `data.json` with all of it, and the part of the model card for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.data.hygiene import Hygiene
from phasefit.prepare.notes import data_notes
from phasefit.report.card.markdown import escape, table
from phasefit.report.facts.data import HEAD, part_cells

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation


def data_paragraphs(found: Hygiene, cut: Truncation | None = None) -> list[str]:
    """The tables side by side, and a list of what deserves a look."""
    said = [note.removeprefix("data: ") for note in data_notes(found)]
    if cut is not None:
        said.append(cut.sentence())
    listed = "\n".join(f"- {escape(note)}" for note in said)
    return [table(["", *HEAD], [[name, *part_cells(part)] for name, part in found.parts.items()]), listed]
