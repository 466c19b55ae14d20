"""Where a run comes from: its data, its recipe, its environment and its command."""

from __future__ import annotations

from typing import Any

from phasefit.runner.data_report import HEAD, part_cells
from phasefit.runner.page.html import Html, user_text
from phasefit.runner.page.parts import code, facts, notes
from phasefit.runner.page.run_content import RunContent
from phasefit.runner.page.shell import Section
from phasefit.runner.page.table import Column, table

TOLD_ELSEWHERE = ("command", "recipe", "resume", "replaces")
LONGEST = 400  # characters of a note


def data_section(run: RunContent) -> Section:
    """The tables side by side, what was noted about them, and their facts."""
    prepared = run.prepared
    columns = [Column("part"), *(Column(name, "long" if name == "words" else "number") for name in HEAD)]
    rows = [[name, *part_cells(part)] for name, part in prepared.hygiene.parts.items()]
    said = [note.removeprefix("data: ") for note in prepared.notes]
    if run.cut is not None:
        said.append(run.cut.sentence())
    known: dict[str, Any] = {name: value for name, value in prepared.facts().items() if name != "columns"}
    shown = notes([user_text(note, LONGEST) for note in dict.fromkeys(said)])
    return Section("Data", [table(columns, rows, "The tables of the run", sortable=False), shown, facts(known)])


def recipe_section(run: RunContent) -> Section:
    """The recipe as it was run."""
    return Section("Recipe", [code(run.recipe, "the recipe")], "As it was run, with every option.")


def environment_section(run: RunContent) -> Section:
    """Versions, threads, device, and whatever else was recorded."""
    known = {name: value for name, value in run.manifest.items() if name not in TOLD_ELSEWHERE}
    versions = dict(known.pop("versions", None) or {})
    return Section("Environment", [facts({**known, **versions})])


def command_section(run: RunContent) -> Section:
    """How to do it again."""
    command = str(run.manifest.get("command") or "")
    return Section("Repeat it", [code(command, "the command")] if command else [Html()])
