"""Arguments of the macros in `templates/parts.html`: headline figures, and the columns and cells of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Value = str | int | float | None
Kind = Literal["text", "long", "number"]


@dataclass(frozen=True)
class Figure:
    """A headline number; its interval is drawn on a line from 0 to 1."""

    title: str
    value: str
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column of texts or numbers; `bar` draws numbers from 0 to 1 as bars in the background."""

    title: str
    kind: Kind = "text"
    digits: int = 0
    bar: bool = False
    note: str = ""  # explanation of the title
    key: str = ""  # of its values, if rows are records
    sort: str = ""  # key of the values to sort by, if different
    longest: int | None = None  # most characters of its texts, if different from the table's

    def attributes(self, value: Any, *, first: bool = False) -> dict[str, Any]:
        """Return the HTML attributes of a cell: its style, and its sort key if that is not its text."""
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
        """Format a number with the digits of this column."""
        return f"{value:,.{self.digits}f}" if math.isfinite(value) else "not a number"


@dataclass(frozen=True)
class Cell:
    """A cell that shows one value and is sorted by another."""

    shown: Value
    sort: Value = None


@dataclass(frozen=True)
class Table:
    """The data of a chart as a table; texts are shortened to `longest` characters."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Value | Cell]]
    caption: str
    longest: int | None = None


def columns(titles: Iterable[str], kind: Kind, digits: int = 0) -> list[Column]:
    """Return columns of the same kind."""
    return [Column(title, kind, digits) for title in titles]


def filled(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns that have a value in some row."""
    return [column for column in columns if any(row.get(column.key) not in (None, "") for row in rows)]


def cells(row: Any, columns: Sequence[Column]) -> list[tuple[Column, Any]]:
    """Return the columns of a row with their values: by key if the row is a record, else by position."""
    if isinstance(row, list | tuple):
        return list(zip(columns, row, strict=True))
    return [(column, _value(row, column)) for column in columns]


def _value(row: Any, column: Column) -> Any:
    value, sort = (row.get(key) if isinstance(row, Mapping) else getattr(row, key or column.key)
                   for key in (column.key, column.sort))  # fmt: skip
    return Cell(value, sort) if column.sort and value is not None else value
