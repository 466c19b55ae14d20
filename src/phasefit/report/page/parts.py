"""What the macros of `templates/parts.html` take: figures, and the columns and cells of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Value = str | int | float | None
Kind = Literal["text", "long", "number"]


@dataclass(frozen=True)
class Figure:
    """A number that deserves to be seen first; the interval is drawn on a line from 0 to 1."""

    title: str
    value: str
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column: texts, or numbers with so many digits; `bar` draws shares from 0 to 1 behind the numbers."""

    title: str
    kind: Kind = "text"
    digits: int = 0
    bar: bool = False
    note: str = ""  # what the title means
    key: str = ""  # of what stands in it, where rows are records
    sort: str = ""  # the key of what it is sorted by, if that is another
    longest: int | None = None  # characters of its texts, where they are not those of the table

    def look(self, value: Any, *, first: bool = False) -> dict[str, Any]:
        """The attributes of a cell: how it is drawn, and what it is sorted by where that is not its text."""
        by = value.sort if isinstance(value, Cell) else value
        count = float(by) if isinstance(by, int | float) and math.isfinite(by) else None
        shown: list[str] = [] if self.kind == "text" else [self.kind]
        style = None
        if self.bar and count is not None:
            shown, style = [*shown, "share"], f"--share:{min(max(count, 0), 1):.3f}"
        sort = by if isinstance(value, Cell) else None
        if self.kind == "number":
            sort = None if count is None else f"{count:.8g}"
        scope = "row" if first else None
        return {"scope": scope, "class": " ".join(shown) or None, "style": style, "data-sort": sort}

    def count(self, value: float) -> str:
        """A number with this column's digits."""
        return f"{value:,.{self.digits}f}" if math.isfinite(value) else "not a number"


@dataclass(frozen=True)
class Cell:
    """A cell that is shown as one thing and sorted by another."""

    shown: Value
    sort: Value = None


@dataclass(frozen=True)
class Table:
    """A table beside a chart; texts are cut at `longest` characters."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Value | Cell]]
    caption: str
    longest: int | None = None


def columns(titles: Iterable[str], kind: Kind, digits: int = 0) -> list[Column]:
    """Columns that are all alike."""
    return [Column(title, kind, digits) for title in titles]


def filled(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns that any row has something in."""
    return [column for column in columns if any(row.get(column.key) not in (None, "") for row in rows)]


def cells(row: Any, columns: Sequence[Column]) -> list[tuple[Column, Any]]:
    """The columns of a row with what stands in them: by their keys if it is a record, else one after the other."""
    if isinstance(row, list | tuple):
        return list(zip(columns, row, strict=True))
    return [(column, _value(row, column)) for column in columns]


def _value(row: Any, column: Column) -> Any:
    value, sort = (row.get(key) if isinstance(row, Mapping) else getattr(row, key or column.key)
                   for key in (column.key, column.sort))  # fmt: skip
    return Cell(value, sort) if column.sort and value is not None else value
