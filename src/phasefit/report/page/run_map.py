"""The embedding map: the same texts at every stage of training, with a slider through the stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.metrics.geometry import geometry_rows
from phasefit.report.map_points import MapPoints, map_points
from phasefit.report.page.chart import COLOURS, SHAPES, Chart, Group, base_option, colour
from phasefit.report.page.html import Html, shortened, tag
from phasefit.report.page.run_content import Limits, RunContent
from phasefit.report.page.shell import Section
from phasefit.report.page.table import Column, Value, table
from phasefit.report.pictures.layout import agreement, method
from phasefit.runs.fitting.snapshots import BEFORE, Snapshots

NAME = 60  # characters of a class's name
TEXTS = ("text", "second text", "third text")
MOST_CLASSES = COLOURS * len(SHAPES)


def map_section(run: RunContent, limits: Limits) -> Section:
    """The map, how to read it, and the figures of the space's geometry."""
    taken = run.snapshots
    if taken is None or not run.layouts:
        return Section("Embedding map", [])
    points = map_points(run.prepared, taken)
    lead = (
        f"{len(taken.codes):,} {points.caption}, laid out by {method(len(taken.codes))}: near is alike, the axes mean "
        f"nothing. Move the slider to see the same {points.what} before training and after each phase."
    )
    return Section("Embedding map", [_map(run, taken, points, limits), _geometry(run)], lead)


def _map(run: RunContent, taken: Snapshots, points: MapPoints, limits: Limits) -> Html:
    shown = np.linspace(0, len(points.codes) - 1, min(len(points.codes), limits.points)).astype(int)
    names = [shortened(name, NAME) for name in points.names]
    width = max((len(own) for own in points.texts), default=1)
    rows = [[*([names[points.codes[row]]] if names else []), *_texts(points, row, width, limits)] for row in shown]
    groups, members = _groups(points, names, shown)
    stages = _stages(run, taken, points, shown)
    bounds = {"type": "value", "min": -1.05, "max": 1.05, "show": False}
    option = base_option(
        xAxis=bounds,
        yAxis=bounds,
        series=[_series(place, group, own) for place, (group, own) in enumerate(zip(groups, members, strict=True))],
    )
    option |= {"grid": {"left": 4, "right": 4, "top": 4, "bottom": 4}, "animationDurationUpdate": 900}
    what = points.what
    label = f"Map of {len(shown):,} {what} at the stage that the slider names; what the model finds alike is near"
    columns = [*([Column(points.group)] if names else []), *(Column(title, "long") for title in TEXTS[:width])]
    as_table = table(columns, rows, f"The {what} of the map", longest=limits.hover)
    more = {"stages": stages, "rows": rows}
    return Chart(option, label, groups, as_table, look="map", more=more).html(_slider(len(stages)))


def _texts(points: MapPoints, row: int, width: int, limits: Limits) -> list[str]:
    own = [shortened(text, limits.hover) for text in points.texts[row]]
    return own + [""] * (width - len(own))


def _groups(points: MapPoints, names: list[str], shown: np.ndarray) -> tuple[list[Group], list[list[int]]]:
    """A colour and a shape for each of the largest groups, one for all others; and the points of each."""
    codes = points.codes[shown] if names else np.zeros(len(shown), dtype=np.int64)
    sizes = np.bincount(codes, minlength=len(names))
    present = np.flatnonzero(sizes)
    coloured = np.sort(present[np.argsort(-sizes[present], kind="stable")][:MOST_CLASSES])
    groups = [Group(names[code] if names else points.what, *colour(place)) for place, code in enumerate(coloured)]
    members = [np.flatnonzero(codes == code).tolist() for code in coloured]
    rest = np.flatnonzero(~np.isin(codes, coloured)).tolist()
    if rest:
        many = {"class": "classes", "range of scores": "ranges"}.get(points.group, f"{points.group}s")
        groups.append(Group(f"{len(present) - len(coloured)} smaller {many}", "@faint"))
        members.append(rest)
    return groups, members


def _series(place: int, group: Group, members: list[int]) -> dict[str, Any]:
    look = {"color": group.colour, "opacity": 0.85, "borderColor": "@card", "borderWidth": 0.5}
    scatter = {"type": "scatter", "symbol": group.shape, "symbolSize": 9, "itemStyle": look}
    return {**scatter, "rows": members, "data": [], "group": place}


def _stages(run: RunContent, taken: Snapshots, points: MapPoints, shown: np.ndarray) -> list[dict[str, Any]]:
    said = f"The nearest other text is of the same {points.group}"
    stages = []
    before: np.ndarray | None = None
    for name, layout in run.layouts.items():
        share = agreement(taken.vectors[name], points.codes) if points.names else None
        note = "" if share is None else f"{said} for {share:.0%} of the texts."
        note += " Nothing moved: the phase kept what it was given." if before is layout else ""
        reach = max(float(np.abs(layout).max(initial=0.0)), 1e-9)
        places = np.round(layout[shown] / reach, 3).tolist()
        title = "Before training" if name == BEFORE else f"After {name}"
        stages.append({"name": title, "note": note.strip(), "points": places})
        before = layout
    return stages


def _slider(stages: int) -> Html:
    last = stages - 1
    slider = tag("input", type="range", id="stage", min=0, max=last, value=last, step=1)
    play = tag("button", "Play", type="button", class_="play", aria_label="Play the stages one after the other")
    label = tag("label", "Stage of training", for_="stage")
    return tag("div", label, play, slider, tag("output", for_="stage", aria_live="polite"), class_="stages")


def _geometry(run: RunContent) -> Html:
    stages = run.metrics.get("geometry") or {}
    rows: list[list[Value]] = [
        [name.replace("_", " "), *values, reading] for name, values, reading in geometry_rows(stages)
    ]
    columns = [Column("figure"), *(Column(stage, "number", 3) for stage in stages), Column("how to read it", "long")]
    return table(columns, rows, "Geometry of the embedding space at each stage", sortable=False) if rows else Html()
