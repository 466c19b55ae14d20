"""The tables of a finished study or search, and where its files are."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from phasefit.studies.claim_verdicts import ClaimVerdict
    from phasefit.studies.missing_cells import Missing
    from phasefit.studies.run_study import StudyResult
    from phasefit.studies.search.run_search import SearchResult
    from phasefit.studies.tables import Row, Table

WIDEST = 40  # characters of a recipe name before it is folded
LONGEST = 1000  # characters of a verdict
GAP = 3  # between two columns
RECIPE = "recipe"
LEAST_FIRST = ("MB", "rank", "runs", "95 % interval", "minutes")  # columns dropped on a narrow terminal, first to last


def show_study(result: StudyResult, json: bool = False, *, verdicts: bool = False) -> None:
    """Print the tables and the folder, with the verdicts first if requested, or everything as JSON."""
    from phasefit.cli.console import print_json, printable, stdout

    if json:
        from phasefit.files.atomic import read_json

        print_json(read_json(result.folder / "results.json"))
        return
    for sentence in result.verdicts if verdicts else ():
        stdout().print(printable(sentence, LONGEST), soft_wrap=True, markup=False, style="bold")
    for table in result.tables:
        show_table(table)
    for note in result.study.notes:
        stdout().print(f"- {note}", soft_wrap=True, markup=False)
    show_claims(result.claims)
    show_missing(result.missing)
    files = "results.csv, results.md, results.tex, results.json and report.html"
    stdout().print(f"The study is in {result.folder}: {files}", soft_wrap=True)


def show_claims(claims: Sequence[ClaimVerdict]) -> None:
    """Print the verdict on each claim."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.claim_verdicts import HEADINGS, shown

    if not claims:
        return
    table = new_table(*HEADINGS, title="Claims", right=(3, 4))
    for one in claims:
        table.add_row(*(printable(cell, 160) for cell in shown(one)))
    stdout().print(table)


def show_missing(missing: Sequence[Missing]) -> None:
    """Print the missing cells and an estimate of their time."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.progress.text import duration

    if not missing:
        return
    shown = new_table("dataset", RECIPE, "missing", "planned", "about", title="Missing cells", right=(2, 3, 4))
    for one in missing:
        names = (printable(name, 60) for name in (one.dataset, one.variant))
        shown.add_row(*names, str(one.missing), str(one.planned), "" if one.seconds is None else duration(one.seconds))
    stdout().print(shown)
    known = [one.seconds for one in missing if one.seconds is not None]
    number = sum(one.missing for one in missing)
    time = f", about {duration(sum(known))} one after another" if known else ""
    cells, them = ("cell", "it") if number == 1 else ("cells", "them")
    way = f"the same command without --no-run, --part and --minutes runs {them}"
    stdout().print(f"{number:,} missing {cells}{time}; {way}", soft_wrap=True)


def show_search(result: SearchResult, out: Path | None, *, json: bool) -> None:
    """Print the check on fresh seeds, the settings and their importance, and the next command."""
    from phasefit.cli.console import print_json, stdout
    from phasefit.recipes.settings import setting_lines

    if json:
        print_json(_search_content(result))
        return
    console = stdout()
    for table in result.tables:
        show_table(table)
    notes = result.notes or (
        f"Best settings: {', '.join(setting_lines(result.settings))}.",
        "They were not checked on fresh seeds, because --fresh-seeds is 0.",
    )
    for note in notes:
        console.print(f"- {note}", soft_wrap=True, markup=False)
    recipe = shlex.quote(str(out or result.recipe))
    console.print(f"The study is in {result.folder}; its recipe is {recipe}\n", soft_wrap=True)
    console.print("Next:", style="bold")
    console.print(f"  phasefit train DATA --recipe {recipe}", soft_wrap=True)


def _search_content(result: SearchResult) -> dict[str, Any]:
    """The result for JSON."""
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
    """Print a table: one part per dataset, one across all of them."""
    from rich.markup import escape

    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.formats import metric_name
    from phasefit.studies.tables import reverted_note

    rows = (*table.rows, *table.overall)
    for dataset in dict.fromkeys(row.dataset for row in rows):
        title = f"{table.title}, {printable(table.label(dataset), 60)}: {metric_name(table.metric)}"
        columns, dropped = fitting(columns_of(table, [row for row in rows if row.dataset == dataset]), stdout().width)
        shown = new_table(*columns, title=escape(title), right=range(1, len(columns)))
        shown.columns[0].min_width = min(max(map(len, columns[RECIPE])), WIDEST)
        for cells in zip(*columns.values(), strict=True):
            shown.add_row(*cells)
        stdout().print(shown)
        if note := reverted_note([row for row in table.rows if row.dataset == dataset], table.labels):
            stdout().print(printable(note, 500), style="dim", markup=False, soft_wrap=True)
        if dropped:
            stdout().print(f"the terminal is too narrow for {', '.join(dropped)}; see results.md", style="dim")


def columns_of(table: Table, rows: Sequence[Row]) -> dict[str, list[str]]:
    """The cells by column; published figures, with their model in the heading, come after the first columns."""
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
    """The columns that fit the terminal, and the dropped ones; names and figures are never cut."""
    kept, dropped = dict(columns), []
    for name in LEAST_FIRST:
        if sum(max(map(len, (heading, *cells))) + GAP for heading, cells in kept.items()) <= width:
            break
        if name in kept:
            del kept[name]
            dropped.append(name)
    return kept, dropped
