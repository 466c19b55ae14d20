"""The confusion matrix as a table with shaded cells; of many classes, the pairs that are confused most."""

from __future__ import annotations

from collections.abc import Sequence

from phasefit.report.facts.confusion import Confusion
from phasefit.report.limits import MOST_IN_MATRIX
from phasefit.report.page.html import Html, tag, user_text
from phasefit.report.page.table import Cell, Column, Value, table

NAME = 40  # characters of a class's name


def confusion(facts: Confusion, pairs: int) -> Html:
    """The matrix, or the pairs that are confused most: rows are true classes, columns predicted ones."""
    labels, matrix = facts.names, facts.counts.tolist()
    if len(labels) > MOST_IN_MATRIX:
        return confused_pairs(facts, pairs)
    corner = tag("td", "true ↓ predicted →")
    head = tag("tr", corner, *(tag("th", user_text(name, NAME), scope="col", title=name) for name in labels))
    lines = [_line(place, name, counts) for place, (name, counts) in enumerate(zip(labels, matrix, strict=True))]
    caption = tag("caption", "Confusion matrix: true classes down, predicted ones across", class_="unseen")
    drawn = tag("table", caption, tag("thead", head), tag("tbody", *lines))
    return tag("div", drawn, class_="scroll matrix", role="region", aria_label="Confusion matrix", tabindex=0)


def _line(place: int, name: str, counts: Sequence[int]) -> Html:
    rows = max(sum(counts), 1)
    cells = [_cell(count, count / rows, column == place) for column, count in enumerate(counts)]
    return tag("tr", tag("th", user_text(name, NAME), scope="row", title=name), *cells)


def _cell(count: int, share: float, right: bool) -> Html:
    if not count:
        return tag("td", "0", class_="none")
    said = f"{share:.0%} of the class"
    return tag("td", f"{count:,}", class_="right" if right else "wrong", style=f"--share:{share:.3f}", title=said)


def confused_pairs(facts: Confusion, most: int) -> Html:
    """Who is taken for whom, the most frequent first."""
    columns = [
        Column("true class"),
        Column("predicted class"),
        Column("rows", "number"),
        Column("share of the class", "number", 3, bar=True),
    ]
    names = facts.names
    rows: list[list[Value | Cell]] = [
        [names[pair.true], names[pair.predicted], pair.rows, pair.share] for pair in facts.pairs(most)
    ]
    return table(columns, rows, "Classes that are confused most", longest=2 * NAME) if rows else Html()
