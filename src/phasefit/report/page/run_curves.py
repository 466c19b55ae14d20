"""How training went: the loss and the watched score of each phase, phases apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phasefit.metrics.registry import metric_at, spelled
from phasefit.report.page.chart import COLOURS
from phasefit.report.page.html import Html, shortened
from phasefit.report.page.parts import paragraph, side_by_side, titled
from phasefit.report.page.plots import Line, line_plot
from phasefit.report.page.run_content import Limits, RunContent
from phasefit.report.page.shell import Section
from phasefit.report.page.table import Cell, Column, Value, table
from phasefit.report.pictures.history import counted, running_mean, score_ranges, watched_score

Entries = Sequence[Mapping[str, Any]]
Axis = dict[str, Any]
HEIGHT = 220
MEAN = "mean"  # the score of several tasks


def curves_section(run: RunContent, limits: Limits) -> Section:
    """What each phase took and reached, and its curves."""
    phases = list(dict.fromkeys(str(entry["phase"]) for entry in run.history))
    entries = [[entry for entry in run.history if str(entry["phase"]) == phase] for phase in phases]
    ranges = score_ranges(entries)
    drawn = [_phase(name, own, ranges, limits) for name, own in zip(phases, entries, strict=True)]
    lead = "Losses of different phases do not compare. The dashed line is the step whose weights were kept."
    return Section("Training", [_table(run.metrics.get("phases") or ()), side_by_side(*drawn, many=True)], lead)


def _table(phases: Entries) -> Html:
    rows: list[list[Value | Cell]] = [
        [str(phase["name"]), phase.get("steps"), phase.get("seconds"), _reached(phase)] for phase in phases
    ]
    columns = [Column("phase"), Column("steps", "number"), Column("seconds", "number", 1), Column("score kept")]
    return table(columns, rows, "The phases", sortable=False) if rows else Html()


def _reached(phase: Mapping[str, Any]) -> str:
    best, watch = phase.get("best"), phase.get("watch")
    if isinstance(best, Mapping) and watch in best:
        best = best[watch]
    if not isinstance(best, int | float):
        return "not validated"
    early = ", stopped early" if phase.get("stopped_early") else ""
    return f"{metric_at(str(watch or '')).title} {best:.4f}{early}".strip()


def _phase(name: str, entries: Entries, ranges: Mapping[str, tuple[float, float]], limits: Limits) -> Html:
    validations = [entry for entry in entries if entry.get("scores")]
    kept = max((entry["step"] for entry in validations if entry.get("improved")), default=None)
    across = {"min": 0, "max": max((int(entry["step"]) for entry in entries), default=1) or 1}
    parts = [_loss(name, entries, kept, across, limits), _score(name, validations, kept, across, ranges)]
    return titled(shortened(name, 60), *parts)


def _loss(name: str, entries: Entries, kept: int | None, across: Axis, limits: Limits) -> Html:
    found = [(int(entry["step"]), entry["loss"]) for entry in entries if entry.get("loss") is not None]
    known = [(step, float(loss)) for step, loss in found if math.isfinite(loss)]
    if not known:
        return paragraph("no loss", quiet=True)
    steps, losses = np.array([step for step, _ in known]), np.array([loss for _, loss in known])
    smooth = running_mean(losses, max(1, len(losses) // 20))
    some = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), limits.steps)).astype(int))
    raw = [(float(steps[place]), float(losses[place])) for place in some]
    mean = [(float(steps[place]), float(smooth[place])) for place in some]
    faint = {"lineStyle": {"color": "@faint", "width": 1, "opacity": 0.5}, "symbol": "none"}
    lines = [Line("each step", raw, "@faint", faint)]
    if len(losses) >= 20:
        lines.append(Line("running mean", mean, "@c0", {"symbol": "none"} | _mark(kept)))
    else:
        lines = [Line("loss", raw, "@c0", _mark(kept))]
    lost = len(found) - len(known)
    said = paragraph(f"{lost:,} losses were no numbers.", quiet=True) if lost else Html()
    label = f"Loss of the phase {name} over its steps"
    return Html(line_plot(lines, "step", "loss", label, height=HEIGHT, axes={"x": across}).html() + said)


def _score(
    name: str, validations: Entries, kept: int | None, across: Axis, ranges: Mapping[str, tuple[float, float]]
) -> Html:
    if not validations:
        return paragraph("not validated", quiet=True)
    watched = watched_score(validations)
    score = metric_at(watched).title
    low, high = ranges.get(watched, (None, None))
    axes: dict[str, dict[str, Any]] = {"x": across, "y": {"min": low, "max": high, "axisLabel": _LABELS}}
    lines = [Line(score, _points(validations, watched), "@c1", _mark(kept)), *_of_tasks(validations, watched)]
    if len(lines) > 1:
        axes["y"] = {}  # the range is that of the mean, and tasks lie above and below
    label = f"{score} on validation over the steps of the phase {name}"
    title = score if len(lines) == 1 else "score"
    chart = line_plot(lines, "step", title, label, height=HEIGHT, axes=axes).html()
    best = next((entry["scores"].get(watched) for entry in validations if entry["step"] == kept), None)
    if kept is None or best is None:
        return chart
    after = f"after {counted(kept)}" if kept else "from its start"
    return Html(chart + paragraph(f"Kept: {score} {best:.4f}, {after}.", quiet=True))


def _of_tasks(validations: Entries, watched: str) -> list[Line]:
    """Each task's own score, which the history has as the task's name and the metric, where their mean is watched."""
    if watched != MEAN:
        return []
    own = dict.fromkeys(key for entry in validations for key in entry["scores"] if key != MEAN)
    lines = []
    for place, key in enumerate(own):
        colour = f"@c{(place + (place > 0)) % COLOURS}"  # the second is the mean's
        style = {"lineStyle": {"width": 1.5, "color": colour}}
        task, _, metric = key.rpartition(" ")
        lines.append(Line(f"{task} {spelled(metric)}".strip(), _points(validations, key), colour, style))
    return lines


def _points(validations: Entries, score: str) -> list[tuple[float, float | None]]:
    return [(float(entry["step"]), _number(entry["scores"].get(score))) for entry in validations]


# The ends of a range are no round numbers.
_LABELS = {"color": "@faint", "hideOverlap": True, "showMinLabel": False, "showMaxLabel": False}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _mark(kept: int | None) -> dict[str, Any]:
    """A dashed line where the weights were kept."""
    if kept is None:
        return {}
    line = {"color": "@faint", "type": "dashed", "width": 1}
    return {
        "markLine": {
            "data": [{"xAxis": kept}], "symbol": "none", "silent": True, "label": {"show": False}, "lineStyle": line,
        }
    }  # fmt: skip
