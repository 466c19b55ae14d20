"""The page of a run: `report.html`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from phasefit.files.atomic import write_text
from phasefit.models.model import TASK
from phasefit.report.card.card import headline
from phasefit.report.facts.held_out import held_out
from phasefit.report.facts.run import RunFacts
from phasefit.report.limits import Limits
from phasefit.report.page.html import Html
from phasefit.report.page.parts import Figure, figures, paragraph, titled
from phasefit.report.page.run_curves import curves_section
from phasefit.report.page.run_data import command_section, data_section, environment_section, recipe_section
from phasefit.report.page.run_map import map_section
from phasefit.report.page.run_rows import row_sections, score_scatter
from phasefit.report.page.run_scores import result, score_figures, score_sections
from phasefit.report.page.shell import Page, Section

LARGEST = 2_900_000  # bytes
TRIES = 8


def write_run_page(path: Path, run: RunFacts) -> None:
    """Write the page, with fewer and shorter texts until it is under 3 MB."""
    limits = Limits()
    for _ in range(TRIES):
        text = run_page(run, limits).html()
        if len(text.encode()) <= LARGEST:
            break
        limits = limits.smaller()
    write_text(path, text)


def run_page(run: RunFacts, limits: Limits) -> Page:
    """What came of it first, then how it came about, then how to repeat it."""
    classes = 0 if run.kind == "none" else len(run.prepared.space)
    sections = [
        *_results(run, limits),
        map_section(run, limits),
        curves_section(run, limits),
        data_section(run),
        recipe_section(run),
        environment_section(run),
        command_section(run),
    ]
    return Page(run.name, headline(run.kind, classes, run.pairs, run.metrics), sections)


def _results(run: RunFacts, limits: Limits) -> Iterator[Section]:
    scored = run.scored
    if not scored:
        yield Section("Result", [figures(_training(run)), _nothing_scored(run)])
        return
    if not run.prepared.tasks:
        yield from _task(run, scored, TASK, limits)
        return
    split = list(scored)[-1]
    mean = scored[split].get("mean")
    shown = [Figure("mean of the tasks", f"{mean:.3f}")] if mean is not None else []
    shown += [Figure(f"{task}: {first.title}", first.value, first.interval)
              for task, own in scored[split]["tasks"].items() for first in score_figures(own)[:1]]  # fmt: skip
    yield Section("Result", [figures(shown), _refitted(run)], f"Scored on {split} rows, which no phase was trained on.")
    for task in dict.fromkeys(task for one in scored.values() for task in one["tasks"]):
        own = {split: one["tasks"][task] for split, one in scored.items() if task in one["tasks"]}
        parts = [titled(part.title, *part.content, lead=part.lead) for part in _task(run, own, task, limits)]
        yield Section(f"Task {task}", parts)


def _task(run: RunFacts, scored: Mapping[str, Any], task: str, limits: Limits) -> Iterator[Section]:
    """The sections of one task."""
    split = list(scored)[-1]
    prepared = run.prepared.tasks.get(task, run.prepared)
    decisions = run.metrics.get("decisions", {TASK: run.metrics.get("decision")})
    held = held_out(prepared, decisions.get(task) or {}, run.outputs, task)
    yield Section("Result", [*result(scored, split), *([] if run.prepared.tasks else [_refitted(run)])])
    if points := scored[split].get("points"):
        lead = "A point is a row; on the dashed line prediction and truth agree."
        yield Section("Scores", [score_scatter(points, prepared.space, held[-1] if held else None, limits)], lead)
    yield from score_sections(scored[split], split, limits)
    yield from row_sections(held, limits)


def _training(run: RunFacts) -> list[Figure]:
    phases = run.metrics.get("phases") or ()
    steps, seconds = (sum(phase.get(key) or 0 for phase in phases) for key in ("steps", "seconds"))
    texts = sum(len(table) for table in run.prepared.trained_tables)
    took = f"{seconds / 60:,.1f} min" if seconds >= 60 else f"{seconds:,.0f} s"
    known = {"training rows": f"{texts:,}", "phases": f"{len(phases):,}", "steps": f"{steps:,}", "time": took}
    return [Figure(name, value) for name, value in known.items()]


def _nothing_scored(run: RunFacts) -> Html:
    if run.kind == "none":
        return paragraph(
            "The run is an encoder: it turns texts into vectors and predicts nothing, so nothing is scored."
        )
    return paragraph("There were no rows with labels to score.")


def _refitted(run: RunFacts) -> Html:
    again = run.metrics.get("refit")
    if not again:
        return Html()
    said = f"Scores and rows are of the first fit; the model was then trained anew on all {again['rows']:,} rows."
    return paragraph(said)
