"""A finished study on the terminal: its tables, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phasefit.studies.conduct import Conducted
    from phasefit.studies.tables import Table


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
    """One table in the house style."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.formats import HEADINGS, cells, has_published, metric_name

    published = has_published(table)
    headings = [*HEADINGS[:4], *(["published"] if published else []), *HEADINGS[4:]]
    shown = new_table(*headings, title=f"{table.title}: {metric_name(table.metric)}", right=range(2, len(headings)))
    for row in (*table.rows, *table.overall):
        figures = [printable(cell, 60) for cell in cells(row, table)]
        if published:
            figures.insert(4, "" if row.published is None else f"{row.published * 100:.2f}")
        shown.add_row(*figures)
    stdout().print(shown)
