"""How training went: the loss and the watched score of each phase, phases apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phasefit.metrics.registry import metric_at, spelled
from phasefit.report.facts.curves import MEAN, Floats, PhaseCurve, phase_curves, score_ranges
from phasefit.report.facts.run import RunFacts
from phasefit.report.limits import COLOURS, Limits
from phasefit.report.page.html import Html, shortened
from phasefit.report.page.parts import paragraph, side_by_side, titled
from phasefit.report.page.plots import Line, line_plot
from phasefit.report.page.shell import Section
from phasefit.report.page.table import Cell, Column, Value, table

HEIGHT = 220
Range = tuple[float, float]


def curves_section(run: RunFacts, limits: Limits) -> Section:
    """What each phase took and reached, and its curves."""
    curves = phase_curves(run.history)
    ranges = score_ranges(curves)
    drawn = [titled(shortened(one.name, 60), _loss(one, limits), _score(one, ranges)) for one in curves]
    lead = "Losses of different phases do not compare. The dashed line is the step whose weights were kept."
    return Section("Training", [_table(run.metrics.get("phases") or ()), side_by_side(*drawn, many=True)], lead)


def _table(phases: Sequence[Mapping[str, Any]]) -> Html:
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


def _loss(curve: PhaseCurve, limits: Limits) -> Html:
    if not len(curve.losses):
        return paragraph("no loss", quiet=True)
    some = np.unique(np.linspace(0, len(curve.losses) - 1, min(len(curve.losses), limits.steps)).astype(int))
    raw = _points(curve.loss_steps[some], curve.losses[some])
    lines = [Line("loss", raw, "@c0", _mark(curve))]
    if len(curve.losses) >= 20:
        faint = {"lineStyle": {"color": "@faint", "width": 1, "opacity": 0.5}, "symbol": "none"}
        mean = _points(curve.loss_steps[some], curve.smooth[some])
        lines = [Line("each step", raw, "@faint", faint)]
        lines.append(Line("running mean", mean, "@c0", {"symbol": "none"} | _mark(curve)))
    lost = paragraph(f"{curve.lost:,} losses were no numbers.", quiet=True) if curve.lost else Html()
    label = f"Loss of the phase {curve.name} over its steps"
    return Html(line_plot(lines, "step", "loss", label, height=HEIGHT, axes={"x": _across(curve)}).html() + lost)


def _score(curve: PhaseCurve, ranges: Mapping[str, Range]) -> Html:
    if not curve.scores:
        return paragraph("not validated", quiet=True)
    watched, score = curve.watched, metric_at(curve.watched).title
    low, high = ranges.get(watched, (None, None))
    up: dict[str, Any] = {"min": low, "max": high, "axisLabel": _LABELS}
    own = Line(score, _points(curve.validated, curve.scores[watched]), "@c1", _mark(curve))
    lines = [own, *_of_tasks(curve)]
    several = len(lines) > 1  # the range is that of the mean, and tasks lie above and below
    axes = {"x": _across(curve), "y": {} if several else up}
    label = f"{score} on validation over the steps of the phase {curve.name}"
    chart = line_plot(lines, "step", "score" if several else score, label, height=HEIGHT, axes=axes).html()
    if curve.kept is None or np.isnan(curve.scores[watched][curve.kept]):
        return chart
    kept = f"Kept: {score} {curve.scores[watched][curve.kept]:.4f}, {curve.when_kept}."
    return Html(chart + paragraph(kept, quiet=True))


def _of_tasks(curve: PhaseCurve) -> list[Line]:
    """Each task's own score, which the history has as the task's name and the metric, where their mean is watched."""
    if curve.watched != MEAN:
        return []
    lines = []
    for place, (key, values) in enumerate(list(curve.scores.items())[1:]):
        colour = f"@c{(place + (place > 0)) % COLOURS}"  # the second is the mean's
        style = {"lineStyle": {"width": 1.5, "color": colour}}
        task, _, metric = key.rpartition(" ")
        lines.append(Line(f"{task} {spelled(metric)}".strip(), _points(curve.validated, values), colour, style))
    return lines


def _points(steps: Floats, values: Floats) -> list[tuple[float, float | None]]:
    pairs = zip(steps.tolist(), values.tolist(), strict=True)
    return [(step, value if np.isfinite(value) else None) for step, value in pairs]


def _across(curve: PhaseCurve) -> dict[str, Any]:
    return {"min": 0, "max": curve.steps or 1}


# The ends of a range are no round numbers.
_LABELS = {"color": "@faint", "hideOverlap": True, "showMinLabel": False, "showMaxLabel": False}


def _mark(curve: PhaseCurve) -> dict[str, Any]:
    """A dashed line where the weights were kept."""
    if curve.kept is None:
        return {}
    line = {"color": "@faint", "type": "dashed", "width": 1}
    at = [{"xAxis": curve.kept_step}]
    return {"markLine": {"data": at, "symbol": "none", "silent": True, "label": {"show": False}, "lineStyle": line}}
