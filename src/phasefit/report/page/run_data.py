"""Where a run comes from: its data, its recipe, its environment and its command."""

from __future__ import annotations

from phasefit.prepare.prepare import Prepared
from phasefit.report.card.data import HEAD, part_cells
from phasefit.report.facts.run import RunFacts
from phasefit.report.page.html import Html, user_text
from phasefit.report.page.parts import code, facts, notes, titled
from phasefit.report.page.shell import Section
from phasefit.report.page.table import Column, table

TOLD_ELSEWHERE = ("command", "recipe", "resume", "replaces")
LONGEST = 400  # characters of a note
BEFORE = "(before the tasks)"  # beside the names of the tasks, none of which has brackets


def data_section(run: RunFacts) -> Section:
    """The tables side by side, what was noted about them, and their facts; of several tasks, those of each."""
    prepared = run.prepared
    said = [note.removeprefix("data: ") for note in prepared.notes]
    if run.cut is not None:
        said.append(run.cut.sentence())
    shown = notes([user_text(note, LONGEST) for note in dict.fromkeys(said)])
    each = [titled(f"Task {name}", _facts(task)) for name, task in prepared.tasks.items()]
    return Section("Data", [_tables(prepared), shown, _facts(prepared), *each])


def _tables(prepared: Prepared) -> Html:
    """A row for each table; what comes before the tasks is a table of its own, or else only their texts again."""
    numbers = [Column(name, "long" if name == "words" else "number") for name in HEAD]
    parts = [[name, *part_cells(part)] for name, part in prepared.hygiene.parts.items()]
    if not prepared.tasks:
        return table([Column("part"), *numbers], parts, "The tables of the run", sortable=False)
    rows = [[BEFORE, *cells] for cells in parts] if prepared.before else []
    for task, own in prepared.tasks.items():
        rows += [[task, name, *part_cells(part)] for name, part in own.hygiene.parts.items()]
    return table([Column("task"), Column("part"), *numbers], rows, "The tables of the run", sortable=False)


def _facts(prepared: Prepared) -> Html:
    return facts({name: value for name, value in prepared.facts().items() if name not in ("columns", "tasks")})


def recipe_section(run: RunFacts) -> Section:
    """The recipe as it was run."""
    return Section("Recipe", [code(run.recipe, "the recipe")], "As it was run, with every option.")


def environment_section(run: RunFacts) -> Section:
    """Versions, threads, device, and whatever else was recorded."""
    known = {name: value for name, value in run.manifest.items() if name not in TOLD_ELSEWHERE}
    versions = dict(known.pop("versions", None) or {})
    return Section("Environment", [facts({**known, **versions})])


def command_section(run: RunFacts) -> Section:
    """How to do it again."""
    command = str(run.manifest.get("command") or "")
    return Section("Repeat it", [code(command, "the command")] if command else [Html()])
