"""Data checks as tables and bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from phasefit.cli.console import printable
from phasefit.cli.tables import new_table
from phasefit.report.limits import MOST_LISTED

if TYPE_CHECKING:
    from rich.table import Table

    from phasefit.data.hygiene import Classes, Hygiene, Part

BAR = 30  # characters of the longest bar


def hygiene_tables(hygiene: Hygiene) -> Iterator[Table]:
    """The tables that have rows."""
    yield parts_table(hygiene)
    if any(overlap.rows for overlap in hygiene.overlaps):
        yield overlaps_table(hygiene)
    if any(part.conflicts for part in hygiene.parts.values()):
        yield conflicts_table(hygiene)
    yield lengths_bars(hygiene)


def parts_table(hygiene: Hygiene) -> Table:
    """One row per check, one column per part."""
    from phasefit.data.hygiene import NEAR_EMPTY

    parts = hygiene.parts.values()
    table = new_table("", *hygiene.parts, title="Data checks", right=range(1, len(hygiene.parts) + 1))
    rows: dict[str, Callable[[Part], str]] = {
        "rows": lambda part: f"{part.rows:,}",
        _repeated_row(hygiene): lambda part: f"{part.repeated:,}",
        "texts with conflicting labels": lambda part: f"{part.conflicting_texts:,}" if part.classes else "-",
        "rows with conflicting labels": lambda part: f"{part.conflicting_rows:,}" if part.classes else "-",
        f"near-empty texts ({NEAR_EMPTY})": lambda part: f"{part.near_empty:,}",
        "words per text: minimum": lambda part: f"{part.words.least:,}",
        "words per text: median": lambda part: f"{part.words.median:,g}",
        "words per text: mean": lambda part: f"{part.words.mean:,.1f}",
        "words per text: 95th percentile": lambda part: f"{part.words.p95:,}",
        "words per text: maximum": lambda part: f"{part.words.most:,}",
        "classes": lambda part: _of(part.classes, lambda of: f"{len(of.sizes):,}"),
        "largest / smallest class": lambda part: _of(part.classes, lambda of: f"{of.imbalance:,.1f}"),
        "classes with one row": lambda part: _of(part.classes, lambda of: f"{len(of.with_one_row):,}"),
        "classes only in other splits": lambda part: _of(part.classes, lambda of: f"{len(of.missing):,}"),
    }
    if any(part.pairs for part in parts):
        rows |= _rows_of_pairs()
    for name, cell in rows.items():
        cells = [cell(part) for part in parts]
        if set(cells) != {"-"}:  # checks of labels, without labels
            table.add_row(name, *cells)
    if any(part.near_empty for part in parts):
        table.add_row("near-empty rows", *(_row_list(part) for part in parts))
    return table


def _rows_of_pairs() -> dict[str, Callable[[Part], str]]:
    return {
        "rows with two identical texts": lambda part: f"{part.pairs.alike:,}" if part.pairs else "-",
        "rows that share their first text": lambda part: f"{part.pairs.shared_anchors:,}" if part.pairs else "-",
        "rows that share their second text": lambda part: f"{part.pairs.shared_partners:,}" if part.pairs else "-",
        "distinct second texts": lambda part: f"{part.pairs.partners:,}" if part.pairs else "-",
    }


def overlaps_table(hygiene: Hygiene) -> Table:
    """The number of texts that two parts share."""
    table = new_table("", "rows", "with a different label", title="Texts in more than one split", right=(1, 2))
    for overlap in hygiene.overlaps:
        share = overlap.rows / hygiene.parts[overlap.part].rows
        name = f"{overlap.part} texts that are also in {overlap.other}"
        table.add_row(name, f"{overlap.rows:,} ({share:.1%})", f"{overlap.other_label:,}")
    return table


def conflicts_table(hygiene: Hygiene) -> Table:
    """Some texts with different labels, with their rows in the file."""
    table = new_table("split", "text", "labels", title="Examples of conflicting labels")
    for name, part in hygiene.parts.items():
        for conflict in part.conflicts:
            labelled_rows = zip(conflict.labels, conflict.rows, strict=True)
            labels = ", ".join(f"{printable(label, 40)} (row {row:,})" for label, row in labelled_rows)
            table.add_row(name, printable(conflict.text, 70), labels)
    return table


def lengths_bars(hygiene: Hygiene) -> Table:
    """A histogram of words per text, over all parts."""
    counts: dict[tuple[int, int], int] = {}
    for part in hygiene.parts.values():
        for first, last, texts in part.words.histogram:
            counts[first, last] = counts.get((first, last), 0) + texts
    table = new_table("words", "texts", "", title="Lengths", right=(0, 1))
    largest = max(counts.values())
    for (first, last), texts in sorted(counts.items()):
        table.add_row(f"{first:,}" if first == last else f"{first:,} to {last:,}", f"{texts:,}", bar(texts, largest))
    return table


def class_bars(counts: Mapping[str, int], hygiene: Hygiene | None = None) -> Table:
    """Rows per class, largest first; with several parts, a column for each and a bar for train."""
    labelled = {name: part.classes.sizes for name, part in hygiene.parts.items() if part.classes} if hygiene else {}
    if len(labelled) < 2:
        labelled = {"rows": dict(counts)}
    else:  # classes without training rows are last
        others = {name: 0 for sizes in labelled.values() for name in sizes if name not in counts}
        counts = {**counts, **others}
    table = new_table("class", *labelled, "", right=range(1, len(labelled) + 1))
    largest = max(counts.values())
    for name, rows in list(counts.items())[:MOST_LISTED]:
        cells = (f"{sizes.get(name, 0):,}" for sizes in labelled.values())
        table.add_row(printable(name, 40), *cells, bar(rows, largest))
    if len(counts) > MOST_LISTED:
        table.add_row(f"and {len(counts) - MOST_LISTED:,} smaller classes", *[""] * (len(labelled) + 1))
    return table


def bar(value: int, largest: int) -> str:
    """A bar of proportional length; empty for zero."""
    return "█" * max(1, round(BAR * value / largest)) if value else ""


def _repeated_row(hygiene: Hygiene) -> str:
    pairs = any(part.pairs for part in hygiene.parts.values())
    return "rows identical to an earlier row" if pairs else "rows with the text of an earlier row"


def _of(classes: Classes | None, cell: Callable[[Classes], str]) -> str:
    return "-" if classes is None else cell(classes)


def _row_list(part: Part) -> str:
    more = ", …" if part.near_empty > len(part.near_empty_rows) else ""
    return ", ".join(f"{row:,}" for row in part.near_empty_rows) + more
