"""What reading the files of a run assumed and left out: for the notes, the manifest, and for resuming the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phasefit.data.table import Table

SHOWN = 5  # rows named in a note


@dataclass(frozen=True)
class SourceFacts:
    """Sentences about the files, the dialect of each file by its path, and how many rows of each part were left out."""

    notes: tuple[str, ...] = ()
    read_as: Mapping[str, dict[str, str]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Mapping[str, Table | None]) -> SourceFacts:
        """The facts of these parts."""
        present = {part: table for part, table in tables.items() if table is not None}
        files = [table.file for table in present.values() if table.file is not None]
        notes = [file.assumption for file in files if file.assumption]
        notes += [dropped_note(table, part) for part, table in present.items() if table.dropped]
        read_as = {str(file.path.resolve()): given for file in files if (given := file.dialect.given())}
        dropped = {part: len(table.dropped) for part, table in present.items() if table.dropped}
        return cls(tuple(dict.fromkeys(notes)), read_as, dropped)


def dropped_note(table: Table, part: str) -> str:
    """How many rows of a table were left out."""
    cells = "text" if part == "unlabelled" else "text or label"
    where = table.name if table.file is None else table.file.path.name
    count, rows = len(table.dropped), ", ".join(f"{row:,}" for row in table.dropped[:SHOWN])
    which = f"row{'s' * (count > 1)} {rows}" + (" ..." if count > SHOWN else "")
    total = count + len(table)
    return f"{where}: {count:,} of {total:,} rows left out because their {cells} is empty ({which})"
