"""`phasefit datasets`: list the named datasets, or inspect one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table

    from phasefit.data.named.summary import Description, Inspection
    from phasefit.events import Note

EXAMPLES = 4
NO_LABELS = "none; if there is a label column, name it with --label"


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A named dataset or a file to inspect; by default all are listed."),
    ] = None,
    text: opt.Text = None,
    label: opt.Label = None,
    kind: opt.Kind = None,
    tree: opt.Tree = None,
    separator: opt.Separator = None,
    levels: opt.Levels = None,
    validation: opt.OtherValidation = None,
    test: opt.OtherTest = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    data_dir: opt.DataDir = None,
    model: opt.Model = None,
    json: opt.Json = False,
) -> None:
    """List the named datasets, or inspect one before you train on it.

    Shows sizes, classes, text lengths and examples, and checks for repeated texts, texts in both train and test,
    conflicting labels and near-empty texts. For a file, everything that 'phasefit train' would report about it follows:
    what is assumed, the splits, empty cells, the kind of the labels, and texts that are too long for the model.

    $ phasefit datasets
    $ phasefit datasets snips
    $ phasefit datasets reviews.csv --label stars --test held-out.csv
    """
    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.run_options import as_levels
    from phasefit.data.named.cards import named_datasets
    from phasefit.data.named.summary import describe_card
    from phasefit.data.task_file import is_task_file

    if name is not None:
        if is_task_file(name):
            raise DataError(
                f"{name} is a task file; inspect its tables one by one, or run 'phasefit train {name} --plan'"
            )
        given: dict[str, Any] = {"text": text, "label": label, "validation": validation, "test": test}
        given |= {"kind": kind, "tree": tree, "separator": separator, "levels": as_levels(levels)}
        given |= {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
        given = {key: value for key, value in given.items() if value}
        inspection = inspect(name, data_dir, dict(given))
        notes = training_notes(name, data_dir, model, given) if Path(name).expanduser().exists() else []
        if json:
            print_json(as_json(inspection) | ({"training": [asdict(note) for note in notes]} if notes else {}))
        else:
            show_one(inspection, name)
            show_notes(notes)
        return
    descriptions = [describe_card(card, data_dir) for card in named_datasets()]
    if json:
        print_json([_plain(one) for one in descriptions])
        return
    stdout().print(overview(descriptions))
    stdout().print("Next: phasefit datasets NAME, phasefit train NAME")


def inspect(name: str, data_dir: Path | None, given: dict[str, Any]) -> Inspection:
    """Inspect a dataset together with the given validation and test tables."""
    from dataclasses import replace

    from phasefit.data.named.summary import inspect_dataset, read_for_inspection
    from phasefit.data.sources import read_table

    splits = {part: given.pop(part) for part in ("validation", "test") if part in given}
    if not given and not splits and not Path(name).expanduser().exists():
        return inspect_dataset(name, data_dir=data_dir)
    given |= {"empty": "drop", "check_used": not splits}  # empty cells are reported, they do not hide the rest
    dataset = read_for_inspection(name, data_dir=data_dir, **given)
    options: dict[str, Any] = {**given, "need_labels": dataset.train.labels is not None, "sides": "any"}
    tables: dict[str, Any] = {
        part: read_table(file, split=part, what=part, data_dir=data_dir, **options) for part, file in splits.items()
    }
    return inspect_dataset(replace(dataset, **tables))


def training_notes(name: str, data_dir: Path | None, model: str | None, given: dict[str, Any]) -> list[Note]:
    """Everything that training on the file with the default recipe would report before its first step."""
    from phasefit.cli.progress import waiting
    from phasefit.runs.data_report import data_report
    from phasefit.runs.specification import run_spec

    with waiting("checking what training would report", quiet=False):
        return data_report(run_spec(name, data_dir=data_dir, model=model, **given), lambda event: None)


def show_notes(notes: Sequence[Note]) -> None:
    """Print notes as a list; warnings are marked."""
    from phasefit.cli.console import stdout

    console = stdout()
    if notes:
        console.print("What training reports", style="bold")
    for note in notes:
        console.print(f"- {'warning: ' if note.warning else ''}{note.text}", soft_wrap=True)


def as_json(inspection: Inspection) -> dict[str, Any]:
    """The description and all data checks."""
    from phasefit.data.hygiene import hygiene

    checks = {"hygiene": hygiene(inspection.tables).to_json()} if inspection.tables else {}
    return _plain(inspection.description) | checks


def overview(descriptions: list[Description]) -> Table:
    """A table of datasets."""
    from phasefit.cli.tables import new_table

    headings = ("name", "train", "validation", "test", "classes", "imbalance", "words", "longest", "kind", "where")
    table = new_table(*headings, right=range(1, 8))
    for one in descriptions:
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


def show_one(inspection: Inspection, source: str) -> None:
    """Print everything about one dataset."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.hygiene_tables import class_bars, hygiene_tables
    from phasefit.cli.tables import facts_table
    from phasefit.data.hygiene import hygiene

    console, one = stdout(), inspection.description
    console.print(printable(one.title), style="bold")
    if one.card is not None:
        console.print(" ".join(part for part in (one.card.description, one.card.notes) if part))
    is_file = Path(source).expanduser().exists()
    console.print(facts_table(facts(one) | ({"where": source} if is_file else {})))
    checks = hygiene(inspection.tables) if inspection.tables else None
    if one.counts:
        console.print(class_bars(one.counts, checks))
    if checks is not None:
        for table in hygiene_tables(checks):
            console.print(table)
        console.print(examples(inspection))


def facts(one: Description) -> dict[str, str]:
    """Sizes, labels, lengths and origin."""
    lines = {
        "rows": ", ".join(f"{part} {rows:,}" for part, rows in one.rows.items()),
        "labels": _labels(one),
        **({"imbalance": f"{one.imbalance:.1f} (largest class / smallest class)"} if one.imbalance else {}),
        "words per text": f"{_or_dash(one.mean_words, '.1f')} on average, {_or_dash(one.longest_words, ',d')} at most",
    }
    if one.card is not None:
        lines |= {"licence": one.card.licence, "on the hub": one.card.hub_source or "-", "where": where(one)}
    return lines


def where(one: Description, brief: bool = False) -> str:
    """Where the dataset is: packaged, a folder (`brief`: "here"), the hub, or not available."""
    from phasefit.data.named.cards import PACKAGED

    if one.where is None:
        hub = one.card.hub if one.card is not None else None
        return f"hub:{hub}" if hub else "not available"
    if one.where.is_relative_to(PACKAGED):
        return "packaged"
    return "here" if brief else str(one.where)


def examples(inspection: Inspection) -> Table:
    """A few rows from different places of the training table."""
    from phasefit.cli.console import printable
    from phasefit.cli.tables import new_table

    table = new_table(*inspection.columns, title="Examples")
    rows = min(map(len, inspection.columns.values()), default=0)
    for row in range(0, rows, max(1, rows // EXAMPLES))[:EXAMPLES]:
        table.add_row(*(printable(values[row], 70) for values in inspection.columns.values()))
    return table


def _plain(one: Description) -> dict[str, Any]:
    """A description for JSON, with some fields of its card."""
    card = (
        {} if one.card is None else {key: getattr(one.card, key) for key in ("description", "licence", "notes", "hub")}
    )
    return {key: value for key, value in asdict(one).items() if key != "card"} | card


def _labels(one: Description) -> str:
    if one.kind == "none":
        return NO_LABELS if one.card is None else "none"
    if one.classes is None:
        return f"none; {one.kind}s of texts" if one.kind in ("pair", "triple") else one.kind
    return f"{one.kind}, {one.classes:,} class{'es' * (one.classes != 1)}"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
