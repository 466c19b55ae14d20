"""`phasefit datasets`: the datasets that go by a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt

if TYPE_CHECKING:
    from rich.table import Table

    from phasefit.data.describe import Description

EXAMPLES = 4
BAR = 30  # characters of the longest bar
MOST_CLASSES = 60


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One of them, or a file of yours, to see it closer.")
    ] = None,
    text: opt.Text = None,
    label: opt.Label = None,
    data_dir: opt.DataDir = None,
) -> None:
    """List the datasets that go by a name, or look at one: sizes, classes, lengths, examples.

    [bold]phasefit datasets[/]

    [bold]phasefit datasets snips[/]

    [bold]phasefit datasets reviews.csv --label stars[/]
    """
    from phasefit.cli.console import stdout
    from phasefit.data.describe import describe, describe_card
    from phasefit.data.named import named_datasets

    if name is None:
        stdout().print(overview([describe_card(card, data_dir) for card in named_datasets()]))
        stdout().print("Next: phasefit datasets NAME, phasefit train NAME")
        return
    options: dict[str, Any] = {key: value for key, value in (("text", text), ("label", label)) if value}
    show_one(describe(name, data_dir=data_dir, **options), name, options, data_dir)


def overview(found: list[Description]) -> Table:
    """All of them, one a row."""
    from phasefit.cli.tables import new_table

    headings = ("name", "train", "validation", "test", "classes", "imbalance", "words", "longest", "kind", "where")
    table = new_table(*headings, right=range(1, 8))
    for one in found:
        table.add_row(
            one.name,
            *(f"{one.rows[part]:,}" if part in one.rows else "-" for part in ("train", "validation", "test")),
            _or_dash(one.classes, ",d"),
            _or_dash(one.imbalance, ".1f"),
            _or_dash(one.mean_words, ".1f"),
            _or_dash(one.longest_words, ",d"),
            one.kind,
            where(one, brief=True),
        )
    return table


def show_one(one: Description, source: str, options: Mapping[str, Any], data_dir: Path | None) -> None:
    """Everything about one dataset."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import facts_table

    console = stdout()
    console.print(printable(one.title), style="bold")
    if one.card is not None:
        console.print(" ".join(part for part in (one.card.description, one.card.notes) if part))
    given = Path(source).expanduser().exists()
    console.print(facts_table(facts(one) | ({"where": source} if given else {})))
    if one.counts:
        console.print(class_bars(one.counts))
    if one.where is not None or given or one.card is None:
        console.print(examples(one, source, options, data_dir))


def facts(one: Description) -> dict[str, str]:
    """The numbers, and where it is from."""
    found = {
        "rows": ", ".join(f"{part} {rows:,}" for part, rows in one.rows.items()),
        "labels": f"{one.kind}, {_or_dash(one.classes, ',d')} classes",
        "imbalance": f"{_or_dash(one.imbalance, '.1f')} (largest class / smallest class)",
        "words in a text": f"{_or_dash(one.mean_words, '.1f')} on average, {_or_dash(one.longest_words, ',d')} at most",
    }
    if one.card is not None:
        found |= {"licence": one.card.licence, "on the hub": one.card.hub_source or "-", "where": where(one)}
    return found


def where(one: Description, brief: bool = False) -> str:
    """Packaged, a folder (`brief`: just that it is here), the hub, or not to be had."""
    from phasefit.data.named import PACKAGED

    if one.where is None:
        hub = one.card.hub if one.card is not None else None
        return f"hub:{hub}" if hub else "not here"
    if one.where.is_relative_to(PACKAGED):
        return "packaged"
    return "here" if brief else str(one.where)


def class_bars(counts: Mapping[str, int]) -> Table:
    """Rows per class as bars, the largest first."""
    from phasefit.cli.console import printable
    from phasefit.cli.tables import new_table

    table = new_table("class", "rows", "", right=(1,))
    largest = max(counts.values())
    for name, rows in list(counts.items())[:MOST_CLASSES]:
        table.add_row(printable(name, 40), f"{rows:,}", "█" * max(1, round(BAR * rows / largest)))
    if len(counts) > MOST_CLASSES:
        table.add_row(f"and {len(counts) - MOST_CLASSES:,} smaller ones", "", "")
    return table


def examples(one: Description, source: str, options: Mapping[str, Any], data_dir: Path | None) -> Table:
    """A few rows from all over the train part."""
    from phasefit.cli.console import printable
    from phasefit.cli.tables import new_table
    from phasefit.data.named import split_file
    from phasefit.data.readers import read_frame
    from phasefit.data.sources import read_table

    columns: dict[str, Sequence[object]]
    if one.card is not None and one.where is not None:
        file = split_file(one.where, one.card.splits["train"])
        frame = read_frame(file) if file is not None else None
        columns = (
            {name: frame[name].tolist() for name in (*one.card.text, *one.card.label)} if frame is not None else {}
        )
    else:
        read = read_table(source, data_dir=data_dir, **options)
        columns = {"text": read.texts, "label": read.labels or []}
    table = new_table(*columns, title="Examples")
    rows = min(map(len, columns.values()), default=0)
    for row in range(0, rows, max(1, rows // EXAMPLES))[:EXAMPLES]:
        table.add_row(*(printable(values[row], 70) for values in columns.values()))
    return table


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
