"""The curves of a phase: its losses and its validation scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit.metrics.registry import MEAN, metric_at, spelled
from phasefit.report.facts.curves import Floats, PhaseCurve
from phasefit.report.limits import COLOURS, Limits
from phasefit.report.page.chart import Chart
from phasefit.report.page.plots import Line, line_plot

HEIGHT = 220
Range = tuple[float, float]


def loss_chart(curve: PhaseCurve, limits: Limits) -> Chart | None:
    """Draw the loss of each step and its running mean; None without losses."""
    if not len(curve.losses):
        return None
    some = np.unique(np.linspace(0, len(curve.losses) - 1, min(len(curve.losses), limits.steps)).astype(int))
    raw = _points(curve.loss_steps[some], curve.losses[some])
    lines = [Line("loss", raw, "@c0", _mark(curve))]
    if len(curve.losses) >= 20:
        faint = {"lineStyle": {"color": "@faint", "width": 1, "opacity": 0.5}, "symbol": "none"}
        mean = _points(curve.loss_steps[some], curve.smooth[some])
        lines = [Line("each step", raw, "@faint", faint)]
        lines.append(Line("running mean", mean, "@c0", {"symbol": "none"} | _mark(curve)))
    label = f"Loss of each step of phase {curve.name}"
    return line_plot(lines, "step", "loss", label, height=HEIGHT, axes={"x": _across(curve)})


def score_chart(curve: PhaseCurve, ranges: Mapping[str, Range]) -> Chart | None:
    """Draw the watched score of each evaluation, and of each task if it is their mean; None without evaluations."""
    if not curve.scores:
        return None
    watched, score = curve.watched, metric_at(curve.watched).title
    low, high = ranges.get(watched, (None, None))
    up: dict[str, Any] = {"min": low, "max": high, "axisLabel": _LABELS}
    own = Line(score, _points(curve.validated, curve.scores[watched]), "@c1", _mark(curve))
    lines = [own, *_of_tasks(curve)]
    several = len(lines) > 1  # the range fits only the mean, not the tasks
    axes = {"x": _across(curve), "y": {} if several else up}
    label = f"Validation {score} over the steps of phase {curve.name}"
    return line_plot(lines, "step", "score" if several else score, label, height=HEIGHT, axes=axes)


def _of_tasks(curve: PhaseCurve) -> list[Line]:
    """Return the score of each task, stored as "task metric" in the history, if their mean is watched."""
    if curve.watched != MEAN:
        return []
    lines = []
    for place, (key, values) in enumerate(list(curve.scores.items())[1:]):
        colour = f"@c{(place + (place > 0)) % COLOURS}"  # the second colour is used for the mean
        style = {"lineStyle": {"width": 1.5, "color": colour}}
        task, _, metric = key.rpartition(" ")
        lines.append(Line(f"{task} {spelled(metric)}".strip(), _points(curve.validated, values), colour, style))
    return lines


def _points(steps: Floats, values: Floats) -> list[tuple[float, float | None]]:
    pairs = zip(steps.tolist(), values.tolist(), strict=True)
    return [(step, value if np.isfinite(value) else None) for step, value in pairs]


def _across(curve: PhaseCurve) -> dict[str, Any]:
    return {"min": 0, "max": curve.steps or 1}


# The ends of a range are not round numbers, so they get no labels.
_LABELS = {"color": "@faint", "hideOverlap": True, "showMinLabel": False, "showMaxLabel": False}


def _mark(curve: PhaseCurve) -> dict[str, Any]:
    """Return a dashed line at the step whose weights were kept."""
    if curve.kept is None:
        return {}
    line = {"color": "@faint", "type": "dashed", "width": 1}
    at = [{"xAxis": curve.kept_step}]
    return {"markLine": {"data": at, "symbol": "none", "silent": True, "label": {"show": False}, "lineStyle": line}}
