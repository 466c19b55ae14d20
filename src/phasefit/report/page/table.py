"""Tables that can be sorted by any column, also from the keyboard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from phasefit.report.page.html import Child, Html, tag, user_text

Value = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A column: texts, or numbers with so many digits; `bar` draws shares from 0 to 1 behind the numbers."""

    title: str
    kind: Literal["text", "long", "number"] = "text"
    digits: int = 0
    bar: bool = False
    note: str = ""  # what the title means


@dataclass(frozen=True)
class Cell:
    """A cell that is shown as one thing and sorted by another."""

    shown: Child
    sort: Value = None


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Value | Cell]],
    caption: str,
    *,
    sortable: bool = True,
    longest: int | None = None,
) -> Html:
    """A table in a box of its own that scrolls where the screen is narrow; texts are cut at `longest` characters.

    The caption names it and is not drawn: a heading stands above. The first column names the row.
    """
    head = tag("tr", *(_head(column, sortable) for column in columns))
    body = "".join(_row(columns, row, longest) for row in rows)
    drawn = tag(
        "table", tag("caption", caption, class_="unseen"), tag("thead", head), Html(f"<tbody>{body}</tbody>"),
        class_="sortable" if sortable else None,
    )  # fmt: skip
    return tag("div", drawn, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _head(column: Column, sortable: bool) -> Html:
    said: Child = column.title
    if sortable:
        said = tag("button", column.title, tag("span", class_="arrow", aria_hidden="true"), type="button")
    how = "number" if column.kind == "number" else None
    return tag("th", said, scope="col", class_=how, title=column.note or None, aria_sort="none" if sortable else None)


def _row(columns: Sequence[Column], row: Sequence[Value | Cell], longest: int | None) -> str:
    cells = [_cell(column, value, longest, first) for first, (column, value) in _numbered(columns, row)]
    return f"<tr>{''.join(cells)}</tr>"


def _numbered(columns: Sequence[Column], row: Sequence[Value | Cell]) -> list[tuple[bool, tuple[Column, Value | Cell]]]:
    return [(place == 0, pair) for place, pair in enumerate(zip(columns, row, strict=True))]


def _cell(column: Column, value: Value | Cell, longest: int | None, first: bool) -> Html:
    given = value if isinstance(value, Cell) else None
    by = given.sort if given is not None else value
    shown = given.shown if given is not None else _shown(column, value, longest)
    kind = {"number": "number", "long": "long", "text": None}[column.kind]
    style = None
    if column.bar and isinstance(by, int | float) and math.isfinite(by):
        kind, style = f"{kind or ''} share".strip(), f"--share:{min(max(float(by), 0), 1):.3f}"
    number = f"{float(by):.8g}" if isinstance(by, int | float) and math.isfinite(by) else None
    key = number if column.kind == "number" else by if given is not None else None
    how = {"class_": kind, "style": style, "data_sort": key}
    return tag("th", shown, scope="row", **how) if first else tag("td", shown, **how)


def _shown(column: Column, value: object, longest: int | None) -> Html:
    if value is None:
        return Html()
    if isinstance(value, Html):
        return value
    if column.kind == "number" and isinstance(value, int | float):
        if not math.isfinite(value):
            return Html("not a number")
        return Html(f"{value:,.{column.digits}f}")
    return user_text(value, longest)
