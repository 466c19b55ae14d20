"""A finished study or search on the terminal: its tables, and where the rest is."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from phasefit.studies.run_study import StudyResult
    from phasefit.studies.search.run_search import SearchResult
    from phasefit.studies.tables import Row, Table

WIDEST = 40  # letters of a recipe's name before it is folded
GAP = 3  # between two columns
RECIPE = "recipe"
LEAST_FIRST = ("MB", "rank", "runs", "95 % interval", "minutes")  # what goes where a terminal is narrow


def show_study(result: StudyResult, json: bool = False) -> None:
    """Tables, then where the files are; with `json` all of it for programs."""
    from phasefit.cli.console import print_json, stdout

    if json:
        from phasefit.files.atomic import read_json

        print_json(read_json(result.folder / "results.json"))
        return
    for table in result.tables:
        show_table(table)
    for note in result.study.notes:
        stdout().print(f"- {note}", soft_wrap=True, markup=False)
    files = "results.csv, results.md, results.tex, results.json and a page to look at: report.html"
    stdout().print(f"The study is in {result.folder}: {files}", soft_wrap=True)


def show_search(result: SearchResult, out: Path | None, *, json: bool) -> None:
    """The proof, the settings, what mattered, and what to do next."""
    from phasefit.cli.console import print_json, stdout
    from phasefit.recipes.settings import setting_lines

    if json:
        print_json(_search_content(result))
        return
    console = stdout()
    for table in result.tables:
        show_table(table)
    notes = result.notes or (
        f"Settings found: {', '.join(setting_lines(result.settings))}.",
        "Nothing is claimed: --fresh-seeds is 0.",
    )
    for note in notes:
        console.print(f"- {note}", soft_wrap=True, markup=False)
    recipe = shlex.quote(str(out or result.recipe))
    console.print(f"The study is in {result.folder}; its recipe is {recipe}\n", soft_wrap=True)
    console.print("Next:", style="bold")
    console.print(f"  phasefit train DATA --recipe {recipe}", soft_wrap=True)


def _search_content(result: SearchResult) -> dict[str, Any]:
    """All of it for programs."""
    from dataclasses import asdict

    from phasefit.recipes.settings import setting_lines

    trials = result.history.trials
    return {
        "folder": str(result.folder),
        "recipe": str(result.recipe),
        "settings": setting_lines(result.settings),
        "tables": [table.to_json() for table in result.tables],
        "notes": list(result.notes),
        "trials": [{**asdict(trial), "settings": setting_lines(trial.settings)} for trial in trials],
        "importances": dict(result.history.importances),
    }


def show_table(table: Table) -> None:
    """One table in the house style: a part for each dataset, one over all of them."""
    from rich.markup import escape

    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.formats import metric_name

    rows = (*table.rows, *table.overall)
    for dataset in dict.fromkeys(row.dataset for row in rows):
        title = f"{table.title}, {printable(dataset, 60)}: {metric_name(table.metric)}"
        columns, left_out = fitting(columns_of(table, [row for row in rows if row.dataset == dataset]), stdout().width)
        shown = new_table(*columns, title=escape(title), right=range(1, len(columns)))
        shown.columns[0].min_width = min(max(map(len, columns[RECIPE])), WIDEST)
        for cells in zip(*columns.values(), strict=True):
            shown.add_row(*cells)
        stdout().print(shown)
        if left_out:
            stdout().print(f"the terminal is too narrow for {', '.join(left_out)}: they are in results.md", style="dim")


def columns_of(table: Table, rows: Sequence[Row]) -> dict[str, list[str]]:
    """What is told of each row, by column; the paper's figures beside ours, with their model in the heading."""
    from phasefit.cli.console import printable
    from phasefit.studies.formats import HEADINGS, cells, factor

    cells_of = [[printable(cell, 80) for cell in cells(row, table)[1:]] for row in rows]
    columns = dict(zip(HEADINGS[1:], map(list, zip(*cells_of, strict=True)), strict=True))
    models = list(dict.fromkeys(row.published_model for row in rows if row.published_model))
    if not models:
        return columns
    paper = [
        "" if row.published is None else f"{row.published * factor(table):.2f}"
        + ("" if row.published_model == models[0] else f" {printable(str(row.published_model), 20)}")
        for row in rows
    ]  # fmt: skip
    first = list(columns)[:3]
    return {**{name: columns[name] for name in first}, printable(f"published, {models[0]}", 32): paper, **columns}


def fitting(columns: dict[str, list[str]], width: int) -> tuple[dict[str, list[str]], list[str]]:
    """The columns that a terminal has room for, and those that go: names and figures are never cut."""
    kept, left_out = dict(columns), []
    for name in LEAST_FIRST:
        if sum(max(map(len, (heading, *cells))) + GAP for heading, cells in kept.items()) <= width:
            break
        if name in kept:
            del kept[name]
            left_out.append(name)
    return kept, left_out
