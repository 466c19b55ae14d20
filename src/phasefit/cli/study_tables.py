"""A finished study on the terminal: its tables, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phasefit.studies.conduct import Conducted
    from phasefit.studies.tables import Table

WIDEST = 40  # letters of a recipe's name before it is folded


def show_study(found: Conducted, json: bool = False) -> None:
    """Tables, then where the files are; with `json` all of it for programs."""
    from phasefit.cli.console import print_json, stdout

    if json:
        from phasefit.store.manifest import read_json

        print_json(read_json(found.folder / "results.json"))
        return
    for table in found.tables:
        show_table(table)
    for note in found.study.notes:
        stdout().print(f"- {note}", soft_wrap=True, markup=False)
    files = "results.csv, results.md, results.tex, results.json and a page to look at: report.html"
    stdout().print(f"The study is in {found.folder}: {files}", soft_wrap=True)


def show_table(table: Table) -> None:
    """One table in the house style: a part for each dataset, one over all of them."""
    from rich.markup import escape

    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.formats import HEADINGS, cells, factor, has_published, metric_name

    published = has_published(table)
    headings = [*HEADINGS[1:4], *(["published"] if published else []), *HEADINGS[4:]]
    rows = (*table.rows, *table.overall)
    for dataset in dict.fromkeys(row.dataset for row in rows):
        title = f"{table.title}, {printable(dataset, 60)}: {metric_name(table.metric)}"
        shown = new_table(*headings, title=escape(title), right=range(1, len(headings)))
        own = [row for row in rows if row.dataset == dataset]
        shown.columns[0].min_width = min(max(len(row.variant) for row in own), WIDEST)
        for row in own:
            figures = [printable(cell, 80) for cell in cells(row, table)[1:]]
            if published:
                beside = f"{(row.published or 0) * factor(table):.2f} {row.published_model}"
                figures.insert(3, "" if row.published is None else printable(beside, 40))
            shown.add_row(*figures)
        stdout().print(shown)
