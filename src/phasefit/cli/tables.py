"""Results as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phasefit.cli.console import printable
from phasefit.metrics.registry import INTERVAL, METRICS, spelled
from phasefit.progress.text import count, duration, score, watched
from phasefit.report.facts.classes import class_scores, weakest
from phasefit.report.limits import MOST_LISTED

if TYPE_CHECKING:
    from rich.table import Table

    from phasefit.runs.plan import Plan

FEW = 3


def new_table(*headings: str, title: str | None = None, right: Sequence[int] = ()) -> Table:
    """An empty table in our style; `right` are the indices of columns with figures."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for number, heading in enumerate(headings):
        figures = number in right
        table.add_column(heading, justify="right" if figures else "left", no_wrap=figures, overflow="fold")
    return table


def facts_table(facts: Mapping[str, Any], title: str | None = None) -> Table:
    """A table of names and values."""
    table = new_table("", "", title=title)
    table.show_header = False
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), _fact(value))
    return table


def metrics_table(parts: Mapping[str, Mapping[str, Any]]) -> Table:
    """One row per metric, one column per part (validation, test), with 95 % intervals."""
    table = new_table("", *parts, right=range(1, len(parts) + 1))
    parts = {title: _with_levels(part) for title, part in parts.items()}
    names = dict.fromkeys(name for part in parts.values() for name, value in part.items() if _is_figure(name, value))
    for name in names:
        title = METRICS[name].title if name in METRICS else spelled(name)
        table.add_row(title, *(_with_interval(part, name) for part in parts.values()))
    return table


def phases_table(phases: Sequence[Mapping[str, Any]]) -> Table:
    """Steps, time and score of each phase."""
    table = new_table("phase", "steps", "time", "score kept", right=(1, 2))
    for phase in phases:
        table.add_row(phase["name"], count(phase["steps"]), duration(phase["seconds"]), _best(phase))
    return table


def classes_table(per_class: Mapping[str, Mapping[str, Any]]) -> Table:
    """Scores of each class, or of the weakest if there are many."""
    classes = class_scores(per_class)
    title = None
    if len(classes) > MOST_LISTED:
        title = f"The {MOST_LISTED} weakest of {count(len(classes))} classes"
        classes = weakest(classes)[:MOST_LISTED]
    table = new_table("class", "precision", "recall", "F1", "support", title=title, right=range(1, 5))
    for one in classes:
        scores = map(score, (one.precision, one.recall, one.f1))
        table.add_row(printable(one.name), *scores, count(one.support))
    return table


def plan_table(plan: Plan) -> Table:
    """Rows, steps, parameters and estimated time of each phase."""
    headings = ("phase", "rows", "steps", "pairs", "parameters", "trained", "estimated time")
    table = new_table(*headings, right=range(1, len(headings)))
    for phase in plan.phases:
        table.add_row(
            phase.name,
            count(phase.rows),
            count(phase.steps),
            "-" if phase.pairs is None else count(phase.pairs),
            count(phase.parameters),
            count(phase.trained_parameters),
            duration(phase.seconds),
        )
    table.columns[0].footer, table.columns[-1].footer = "total", duration(plan.seconds)
    table.show_footer = True
    return table


def _with_levels(part: Mapping[str, Any]) -> dict[str, Any]:
    """The part with the scores of each level of a tree as separate metrics."""
    levels = {
        f"level_{depth}_{name}": value
        for depth, scores in enumerate(part.get("levels") or (), start=1)
        for name, value in scores.items()
    }
    return {**part, **levels}


def _is_figure(name: str, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not name.endswith(INTERVAL)


def _with_interval(part: Mapping[str, Any], name: str) -> str:
    if name not in part:
        return ""
    interval = part.get(name + INTERVAL)
    around = f" ({score(interval[0])} to {score(interval[1])})" if interval else ""
    return _figure(name, part[name]) + around


def _figure(name: str, value: Any) -> str:
    if value is None:
        return "-"
    return count(value) if isinstance(value, int) or name in ("rows", "support", "seconds") else score(value)


def _best(phase: Mapping[str, Any]) -> str:
    """The watched score, or the first few if it is not known."""
    best, watch = phase.get("best"), str(phase.get("watch"))
    if not isinstance(best, Mapping):
        return score(best)
    names = [watch] if watch in best else list(best)[:FEW]
    kept = ", ".join(f"{spelled(watched(name))} {score(best[name])}" for name in names)
    if kept and (phase.get("reverted") or phase.get("skipped")):
        return f"{kept} ({'skipped' if phase.get('skipped') else 'no improvement, changes discarded'})"
    before = phase.get("before")
    return kept if before is None or not kept else f"{kept} (before: {score(before)})"


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return printable(", ".join(map(str, value)), limit=200)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:g}"
    return count(value) if isinstance(value, int | float) and not isinstance(value, bool) else printable(value, 200)
