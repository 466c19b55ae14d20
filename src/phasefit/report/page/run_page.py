"""The page of a run, `report.html`. Each section is a template of `templates/run/` filled with facts of `facts/`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from phasefit.explain.html import words_html
from phasefit.files.atomic import write_text
from phasefit.kinds import kind_of
from phasefit.metrics.geometry import geometry_rows
from phasefit.metrics.registry import metric_at
from phasefit.models.model import TASK
from phasefit.prepare.prepare import Prepared
from phasefit.report.facts.calibration import Calibration
from phasefit.report.facts.classes import class_scores, weakest
from phasefit.report.facts.confusion import Confusion
from phasefit.report.facts.curves import phase_curves, phase_results, score_ranges
from phasefit.report.facts.data import HEAD, data_rows
from phasefit.report.facts.held_out import HeldOut
from phasefit.report.facts.rows import ScoreError, label_doubts, largest_errors, levels_of, mistakes, score_errors
from phasefit.report.facts.run import RunFacts, headline
from phasefit.report.facts.scores import Scored, all_scores, headline_scores
from phasefit.report.facts.words import MistakeWords
from phasefit.report.limits import MOST_IN_MATRIX, Limits
from phasefit.report.page.parts import Cell, Column, Figure
from phasefit.report.page.run_curves import loss_chart, score_chart
from phasefit.report.page.run_map import map_chart
from phasefit.report.page.score_charts import reliability_chart, scatter_chart
from phasefit.report.page.shell import Page, Section, section
from phasefit.runs.evaluation.baselines import baseline_rows, baselines_sentence

LARGEST = 2_900_000  # bytes
TRIES = 8
SHOWN_ELSEWHERE = ("command", "recipe", "resume", "replaces")  # of the manifest


def write_run_page(path: Path, run: RunFacts) -> None:
    """Write the page, with fewer and shorter texts if it would exceed 3 MB."""
    limits = Limits()
    for _ in range(TRIES):
        text = run_page(run, limits).html()
        if len(text.encode()) <= LARGEST:
            break
        limits = limits.smaller()
    write_text(path, text)


def run_page(run: RunFacts, limits: Limits) -> Page:
    """Return the page: first the results, then training and data, then how to reproduce the run."""
    classes = 0 if run.kind == "none" else len(run.prepared.space)
    sections = [
        *_results(run, limits),
        _map(run, limits),
        _training(run, limits),
        _data(run),
        section("Recipe", "run/recipe.html", recipe=run.recipe),
        section("Environment", "environment.html", environment=_environment(run)),
        section("Reproduce", "command.html", command=str(run.manifest.get("command") or "")),
    ]
    return Page(run.name, headline(run.kind, classes, run.pairs, phased=run.metrics.get("phases") != []), sections)


def _results(run: RunFacts, limits: Limits) -> Iterator[Section]:
    if not run.scored:
        yield section("Result", "run/unscored.html", figures=_training_figures(run), predicts=run.kind != "none")
        return
    if not run.prepared.tasks:
        yield from _task(run, run.scored, TASK, limits)
        return
    split = list(run.scored)[-1]
    last = run.scored[split]
    figures = [] if last.get("mean") is None else [Figure("mean of the tasks", f"{last['mean']:.3f}")]
    for task, own in last["tasks"].items():
        figures += [Figure(f"{task}: {one.title}", one.value, one.interval) for one in _score_figures(own)[:1]]
    yield section("Result", "run/tasks.html", figures=figures, split=split, refit=run.metrics.get("refit"))
    for task in dict.fromkeys(task for scored in run.scored.values() for task in scored["tasks"]):
        own = {split: scored["tasks"][task] for split, scored in run.scored.items() if task in scored["tasks"]}
        yield section(f"Task {task}", "run/task.html", sections=list(_task(run, own, task, limits)))


def _task(run: RunFacts, splits: Mapping[str, Scored], task: str, limits: Limits) -> Iterator[Section]:
    """Return the sections with the results of one task that have data."""
    split, scored = list(splits.items())[-1]
    prepared = run.prepared.tasks.get(task, run.prepared)
    held = run.held_out(task)
    refit = None if run.prepared.tasks else run.metrics.get("refit")
    shown: dict[str, Any] = {"figures": _score_figures(scored), "scores": _score_rows(splits), "splits": list(splits)}
    baselines = None if run.prepared.tasks else run.metrics.get("baselines")
    shown["baselines"] = baseline_rows(baselines) if baselines else []
    shown["baselines_sentence"] = baselines_sentence(baselines) if baselines else ""
    yield section("Result", "run/result.html", split=split, refit=refit, **shown)
    if points := scored.get("points"):
        errors = _points(points, prepared, held[-1] if held else None, limits)
        yield section("Scores", "run/scores.html", chart=scatter_chart(errors, limits))
    if scored.get("confusion"):
        confusion = Confusion.of(scored["confusion"])
        pairs = None if len(confusion.names) <= MOST_IN_MATRIX else confusion.pairs(limits.rows)
        yield section("Confusion", "run/confusion.html", confusion=confusion, pairs=pairs)
    if scored.get("per_class"):
        classes = class_scores(scored["per_class"])
        listed = weakest(classes)[: limits.classes] if len(classes) > limits.classes else classes
        yield section("Classes", "run/classes.html", classes=listed, total=len(classes), split=split)
    if scored.get("calibration"):
        calibration = Calibration.of(scored["calibration"])
        chart = reliability_chart(calibration)
        yield section("Reliability", "run/reliability.html", chart=chart, verdict=calibration.verdict)
    yield from _rows(held, limits, run.words.get(task))


def _score_rows(splits: Mapping[str, Scored]) -> list[list[Any]]:
    rows = all_scores(splits)
    return [[row.title, *(None if one is None else Cell(one.text, one.value) for one in row.splits)] for row in rows]


def _rows(held: list[HeldOut], limits: Limits, words: MistakeWords | None) -> Iterator[Section]:
    """Return the sections with rows to check: mistakes of the last split, and doubtful labels of all splits."""
    if not held:
        yield section("Mistakes", "run/unknown.html")
        yield section("Labels to check", "run/unknown.html")
        return
    last = held[-1]
    shown: dict[str, Any] = {"split": last.split, "limits": limits}
    answer = kind_of(last.space).answer
    if answer == "number":
        yield section("Largest errors", "run/errors.html", errors=largest_errors(last, limits.rows), **shown)
        yield _words(words, limits)
        return
    shown["several"] = answer == "set"
    yield section("Mistakes", "run/mistakes.html", mistakes=mistakes(last, limits.rows), **shown)
    yield _words(words, limits)
    doubts, count = label_doubts(held, limits.rows)
    rows = sum(len(one.table) for one in held)
    yield section("Labels to check", "run/labels.html", doubts=doubts, count=count, rows=rows, **shown)


def _words(words: MistakeWords | None, limits: Limits) -> Section:
    """Return the words that led to the first mistakes; nothing if they were not computed."""
    title = "Words that led to mistakes"
    if words is None:
        return Section(title, Markup())
    coloured = [(row, Markup(words_html(row.explanation, limits.text))) for row in words.rows]
    return section(title, "run/words.html", words=words, rows=coloured)


def _points(points: Any, prepared: Prepared, held: HeldOut | None, limits: Limits) -> list[ScoreError]:
    """Return true and predicted scores, with their texts if the outputs of each row are available."""
    if held is not None:
        return score_errors(held, limits.points)
    return [ScoreError((), one, other, 0, *levels_of(prepared.space, one, other)) for one, other in points]


def _map(run: RunFacts, limits: Limits) -> Section:
    if run.map is None:
        return Section("Embedding map", Markup())
    stages = run.metrics.get("geometry") or {}
    shown = {"stages": list(stages), "geometry": _geometry(stages)}
    return section("Embedding map", "run/map.html", map=run.map, chart=map_chart(run.map, limits), **shown)


def _geometry(stages: Mapping[str, Any]) -> list[list[Any]]:
    return [[name.replace("_", " "), *values, reading] for name, values, reading in geometry_rows(stages)]


def _training(run: RunFacts, limits: Limits) -> Section:
    curves = phase_curves(run.history)
    ranges = score_ranges(curves)
    drawn = [(curve, loss_chart(curve, limits), score_chart(curve, ranges)) for curve in curves]
    phases = phase_results(run.metrics.get("phases") or ())
    return section("Training", "run/training.html", phases=phases, curves=drawn, metric=metric_at)


def _data(run: RunFacts) -> Section:
    prepared = run.prepared
    notes = [note.removeprefix("data: ") for note in prepared.notes]
    notes += [] if run.cut is None else [run.cut.sentence()]
    tasks = {name: _facts(task) for name, task in prepared.tasks.items()}
    head = [Column(name, "long" if name == "words" else "number") for name in HEAD]
    shown = {"notes": list(dict.fromkeys(notes)), "facts": _facts(prepared), "tasks": tasks}
    return section("Data", "run/data.html", head=head, rows=data_rows(prepared), **shown)


def _facts(prepared: Prepared) -> dict[str, Any]:
    return {name: value for name, value in prepared.facts().items() if name not in ("columns", "tasks")}


def _environment(run: RunFacts) -> dict[str, Any]:
    recorded = {name: value for name, value in run.manifest.items() if name not in SHOWN_ELSEWHERE}
    versions = dict(recorded.pop("versions", None) or {})
    return {**recorded, **versions}


def _score_figures(scored: Scored) -> list[Figure]:
    figures = [Figure(score.title, f"{score.value:.3f}", score.interval) for score in headline_scores(scored)]
    return [*figures, *([] if scored.get("rows") is None else [Figure("rows", f"{scored['rows']:,}")])]


def _training_figures(run: RunFacts) -> list[Figure]:
    phases = run.metrics.get("phases") or ()
    steps, seconds = (sum(phase.get(key) or 0 for phase in phases) for key in ("steps", "seconds"))
    rows = sum(len(table) for table in run.prepared.trained_tables)
    time = f"{seconds / 60:,.1f} min" if seconds >= 60 else f"{seconds:,.0f} s"
    shown = {"training rows": f"{rows:,}", "phases": f"{len(phases):,}", "steps": f"{steps:,}", "time": time}
    return [Figure(name, value) for name, value in shown.items()]
