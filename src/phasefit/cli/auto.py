"""`phasefit train --recipe auto`: try several recipes on the training rows, then train the best."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from phasefit.errors import PhasefitError
from phasefit.runs.specification import AUTO_MINUTES

if TYPE_CHECKING:
    from phasefit.runs.job import TrainResult
    from phasefit.runs.specification import RunSpec
    from phasefit.studies.auto.report import AutoResult


def train_auto(spec: RunSpec, minutes: float | None, *, plan: bool, json: bool, quiet: bool) -> TrainResult | None:
    """Choose a recipe and train it; with `plan`, only show what would be tried."""
    from phasefit.cli.console import stderr
    from phasefit.runs.processes import has_others

    started = time.monotonic()
    budget = AUTO_MINUTES if minutes is None else minutes
    if not budget > 0:
        raise PhasefitError(f"--minutes must be above 0, not {budget:g}")
    if has_others():
        raise PhasefitError("--recipe auto starts its own processes; run it without accelerate launch")
    if plan:
        show_plan(spec, budget, json=json)
        return None
    from phasefit.report import write_run_report
    from phasefit.runs.train import train
    from phasefit.studies.auto.report import as_json, as_markdown, conclusion
    from phasefit.studies.auto.run_auto import choose_recipe, final_spec

    _check_out(spec)
    console = stderr()

    def show_event(event: object) -> None:
        if not quiet:
            console.print(getattr(event, "text", ""), soft_wrap=True, markup=False, style="dim")

    result = choose_recipe(spec, budget, show_event, started=started)
    if not json and not quiet:
        show_trials(result)
    elif not quiet:
        console.print(conclusion(result), soft_wrap=True, markup=False)
    from phasefit.cli.progress import listener

    files = {"auto.json": as_json(result), "auto.md": as_markdown(result, spec.output.command)}
    with listener(quiet) as listen:
        return train(final_spec(spec, result), listen, files, report=write_run_report)


def show_trials(result: AutoResult) -> None:
    """Print the trials and the conclusion."""
    from phasefit.cli.console import stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.auto.report import HEADINGS, conclusion, table_rows

    table = new_table(*HEADINGS, title=f"Trials: {result.score} on held-out training rows", right=(0, 3, 4))
    for row in table_rows(result):
        table.add_row(*row)
    console = stdout()
    console.print(table)
    console.print(conclusion(result), soft_wrap=True, markup=False)
    for line in result.left_out:
        console.print(f"Not tried: {line}", soft_wrap=True, markup=False)
    console.print(f"The trials are in {result.folder}\n", soft_wrap=True, markup=False)


def show_plan(spec: RunSpec, minutes: float, *, json: bool) -> None:
    """Print the candidates, without training."""
    from dataclasses import asdict

    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.tables import new_table
    from phasefit.recipes.settings import setting_lines
    from phasefit.studies.auto.candidates import candidates_for, facts_of, left_out
    from phasefit.studies.auto.report import plan_lines
    from phasefit.studies.auto.run_auto import check_effort
    from phasefit.studies.auto.trial_data import prepare_tables

    check_effort(spec)
    facts = facts_of(prepare_tables(spec))
    candidates, out = candidates_for(facts, spec.recipe.settings), left_out(facts, spec.recipe.settings)
    if json:
        tried = {"candidates": [one.to_json() for one in candidates], "left_out": out}
        print_json({"data": asdict(facts), **tried, "minutes": minutes})
        return
    table = new_table("candidate", "recipe", "settings", "why", title="Candidates, in this order")
    for one in candidates:
        table.add_row(one.name, one.recipe, ", ".join(setting_lines(one.settings)), one.why)
    console = stdout()
    console.print(table)
    for line in [*plan_lines(facts, candidates, minutes), *(f"not tried: {one}" for one in out)]:
        console.print(f"- {line}", soft_wrap=True, markup=False)


def _check_out(spec: RunSpec) -> None:
    """Reject an existing output folder before any training."""
    from pathlib import Path

    from phasefit.runs.folder import check_free

    if spec.output.folder is not None:
        check_free(Path(spec.output.folder), overwrite=spec.output.overwrite)
