"""The embedding map: the same texts at each stage of training, with a slider for the stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.report.facts.map import PLURALS, EmbeddingMap, MapPoints, MapStage, largest_groups
from phasefit.report.limits import Limits
from phasefit.report.page.chart import Chart, Group, base_option, colour
from phasefit.report.page.parts import Column, Table
from phasefit.report.text import shortened
from phasefit.runs.fitting.snapshots import BEFORE

NAME = 60  # most characters of a class name
TEXTS = ("text", "second text", "third text")


def map_chart(drawn: EmbeddingMap, limits: Limits) -> Chart:
    """Return the map with the positions of its points at each stage."""
    points = drawn.points
    shown = np.linspace(0, len(points.codes) - 1, min(len(points.codes), limits.points)).astype(int)
    names = [shortened(name, NAME) for name in points.names]
    width = max((len(own) for own in points.texts), default=1)
    rows = [[*([names[points.codes[row]]] if names else []), *_texts(points, row, width, limits)] for row in shown]
    groups, members = _groups(points, names, shown)
    stages = [_stage(stage, points.group, shown) for stage in drawn.stages]
    bounds = {"type": "value", "min": -1.05, "max": 1.05, "show": False}
    option = base_option(
        xAxis=bounds,
        yAxis=bounds,
        series=[_series(place, group, own) for place, (group, own) in enumerate(zip(groups, members, strict=True))],
    )
    option |= {"grid": {"left": 4, "right": 4, "top": 4, "bottom": 4}, "animationDurationUpdate": 900}
    what = points.what
    label = f"Map of {len(shown):,} {what} at the stage selected with the slider; similar {what} are close together"
    columns = [*([Column(points.group)] if names else []), *(Column(title, "long") for title in TEXTS[:width])]
    as_table = Table(columns, rows, f"The {what} on the map", limits.hover)
    more = {"stages": stages, "rows": rows}
    return Chart(option, label, groups, as_table, layout="map", more=more)


def _texts(points: MapPoints, row: int, width: int, limits: Limits) -> list[str]:
    own = [shortened(text, limits.hover) for text in points.texts[row]]
    return own + [""] * (width - len(own))


def _groups(points: MapPoints, names: list[str], shown: np.ndarray) -> tuple[list[Group], list[list[int]]]:
    """Return a colour and a shape for each of the largest groups, one for all others, and the points of each."""
    codes = points.codes[shown] if names else np.zeros(len(shown), dtype=np.int64)
    largest = largest_groups(codes)
    coloured = largest.coloured
    groups = [Group(names[code] if names else points.what, *colour(place)) for place, code in enumerate(coloured)]
    members = [np.flatnonzero(codes == code).tolist() for code in coloured]
    rest = np.flatnonzero(~np.isin(codes, coloured)).tolist()
    if rest:
        many = PLURALS.get(points.group, f"{points.group}s")
        groups.append(Group(f"{largest.others} smaller {many}", "@faint"))
        members.append(rest)
    return groups, members


def _series(place: int, group: Group, members: list[int]) -> dict[str, Any]:
    style = {"color": group.colour, "opacity": 0.85, "borderColor": "@card", "borderWidth": 0.5}
    scatter = {"type": "scatter", "symbol": group.shape, "symbolSize": 9, "itemStyle": style}
    return {**scatter, "rows": members, "data": [], "group": place}


def _stage(stage: MapStage, group: str, shown: np.ndarray) -> dict[str, Any]:
    notes = []
    if stage.share is not None:
        notes.append(f"For {stage.share:.0%} of the texts, the nearest other text is in the same {group}.")
    if stage.unchanged:
        notes.append("Unchanged: this phase did not change the encoder.")
    reach = max(float(np.abs(stage.layout).max(initial=0.0)), 1e-9)
    places = np.round(stage.layout[shown] / reach, 3).tolist()
    title = "Before training" if stage.name == BEFORE else f"After {stage.name}"
    return {"name": title, "note": " ".join(notes), "points": places}
