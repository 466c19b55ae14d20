"""Plots for all pages: values with intervals, scatter plots and line plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phasefit.report.page.chart import Chart, Group, base_option, category_axis, colour, value_axis
from phasefit.report.page.parts import Column, Table
from phasefit.report.text import shortened

LINE = 26  # pixels per line of an interval plot
LONGEST = 60  # most characters of a name
GAP: list[float | None] = [None, None]  # where a line is interrupted


@dataclass(frozen=True)
class Spot:
    """A value of a variant, its interval, and a reference value from another source."""

    heading: str  # the line above it, e.g. a dataset
    name: str  # the variant; each has its own colour
    value: float
    low: float | None = None
    high: float | None = None
    reference: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """A curve: its name and its points (x, y), with optional intervals."""

    name: str
    points: Sequence[Sequence[float | None]]  # x, y, and optionally low, high
    colour: str = ""  # a colour of the page; default: the next one
    style: Mapping[str, Any] = field(default_factory=dict)  # options of the series in addition to the common ones


def interval_plot(spots: Sequence[Spot], x_title: str, label: str, reference: str = "") -> Chart:
    """Draw each value with its interval on one line below its heading; hollow marks are reference values."""
    places, axis = _lines_of(spots)
    names = list(dict.fromkeys(spot.name for spot in spots))
    groups = [Group(shortened(name, LONGEST), *colour(place)) for place, name in enumerate(names)]
    series = [one for group, name in enumerate(names) for one in _dots(group, groups[group], name, spots, places)]
    if reference and any(spot.reference is not None for spot in spots):
        groups.append(Group(reference, "@ink", "diamond", hollow=True))
        series.append(_hollow(len(groups) - 1, spots, places, reference))
    option = base_option(xAxis=value_axis(x_title), yAxis=category_axis(axis), series=series)
    option["yAxis"]["axisLabel"]["margin"] = 12
    narrow = {"yAxis": {"axisLabel": {"width": 110}}}
    return Chart(
        option, label, groups, _as_table(spots, x_title, reference), LINE * len(axis) + 70, more={"narrow": narrow}
    )


def _lines_of(spots: Sequence[Spot]) -> tuple[list[int], list[Any]]:
    """Return the line of each spot and the labels of the axis; several headings each have their own line."""
    headings = list(dict.fromkeys(spot.heading for spot in spots))
    axis: list[Any] = []
    places = [0] * len(spots)
    for heading in headings:
        if len(headings) > 1:
            axis.append({"value": shortened(heading, LONGEST), "textStyle": {"fontWeight": "bold"}})
        for number, spot in enumerate(spots):
            if spot.heading == heading:
                places[number] = len(axis)
                axis.append(shortened(spot.name, LONGEST))
    return places, axis


def _dots(group: int, style: Group, name: str, spots: Sequence[Spot], places: Sequence[int]) -> list[dict[str, Any]]:
    """Return the dots of one variant and their whiskers, which are one line with gaps."""
    own = [(spot, place) for spot, place in zip(spots, places, strict=True) if spot.name == name]
    dots = [{"value": [spot.value, place], "tip": _tip(spot)} for spot, place in own]
    ends: list[list[float | None]] = []
    for spot, place in own:
        if spot.low is not None and spot.high is not None:
            ends += [[spot.low, place], [spot.high, place], GAP]
    fill = {"color": style.colour}
    whiskers = {
        "type": "line", "data": ends, "silent": True, "symbol": "none", "group": group, "z": 2,
        "lineStyle": {**fill, "width": 2, "opacity": 0.75}, "itemStyle": fill,
    }  # fmt: skip
    dot = {"type": "scatter", "data": dots, "symbol": style.shape, "symbolSize": 10, "itemStyle": fill, "z": 3}
    return [whiskers, {**dot, "group": group}]


def _hollow(group: int, spots: Sequence[Spot], places: Sequence[int], source: str) -> dict[str, Any]:
    known = [(spot, place) for spot, place in zip(spots, places, strict=True) if spot.reference is not None]
    return {
        "type": "scatter",
        "data": [
            {"value": [s.reference, place], "tip": [s.name, f"{source}: {s.reference:.4g}"]} for s, place in known
        ],
        "symbol": "diamond",
        "symbolSize": 12,
        "itemStyle": {"color": "@card", "borderColor": "@ink", "borderWidth": 1.5, "opacity": 0.9},
        "group": group,
        "z": 4,
    }


def _tip(spot: Spot) -> list[str]:
    span = "" if spot.low is None or spot.high is None else f" ({spot.low:.4f} to {spot.high:.4f})"
    return [line for line in (f"{spot.name}, {spot.heading}", f"{spot.value:.4f}{span}", spot.note) if line]


def _as_table(spots: Sequence[Spot], title: str, reference: str) -> Table:
    numbers = [Column(name, "number", 4) for name in (title, "low", "high")]
    columns = [Column("variant"), Column("dataset"), *numbers, *([Column(reference, "number", 4)] if reference else [])]
    rows = [
        [spot.name, spot.heading, spot.value, spot.low, spot.high, *([spot.reference] if reference else [])]
        for spot in spots
    ]
    return Table(columns, rows, f"{title} with intervals", longest=LONGEST)


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot, in the colour of its group."""

    group: str
    x: float
    y: float
    tip: Sequence[str] = ()


def scatter_plot(
    points: Sequence[Point], x_title: str, y_title: str, label: str, as_table: Table | None = None, *, log: bool = False
) -> Chart:
    """Draw points by group; `log` makes the horizontal axis logarithmic."""
    names = list(dict.fromkeys(point.group for point in points))
    groups = [Group(shortened(name, LONGEST), *colour(place)) for place, name in enumerate(names)]
    series = [
        {
            "type": "scatter",
            "data": [{"value": [p.x, p.y], "tip": list(p.tip)} for p in points if p.group == name],
            "symbol": groups[place].shape,
            "symbolSize": 9,
            "itemStyle": {"color": groups[place].colour, "opacity": 0.8},
            "group": place,
        }
        for place, name in enumerate(names)
    ]
    across = value_axis(x_title, **({"type": "log", "nameGap": 26} if log else {"nameGap": 26}))
    option = base_option(xAxis=across, yAxis=value_axis(y_title), series=series)
    return Chart(option, label, groups, as_table)


def line_plot(
    lines: Sequence[Line],
    x_title: str,
    y_title: str,
    label: str,
    *,
    height: int = 300,
    small: bool = False,
    axes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Chart:
    """Draw curves; intervals of points are whiskers. `axes` has additional options of the axes `x` and `y`."""
    groups, series = [], []
    for place, line in enumerate(lines):
        group = Group(shortened(line.name, LONGEST), line.colour or colour(place)[0], "line")
        groups.append(group)
        series += _curve(place, group, line)
    across, up = ((axes or {}).get(name, {}) for name in ("x", "y"))
    x_axis, y_axis = value_axis(x_title, nameGap=26, **across), value_axis(y_title, **up)
    option = base_option("axis", xAxis=x_axis, yAxis=y_axis, series=series)
    option["tooltip"]["axisPointer"] = {"type": "line", "lineStyle": {"color": "@faint"}}
    more = {"x_title": x_title, "y_title": y_title}
    return Chart(
        option,
        label,
        groups,
        _lines_table(lines, x_title, y_title),
        height,
        layout="small" if small else "wide",
        more=more,
    )


def _curve(group: int, style: Group, line: Line) -> list[dict[str, Any]]:
    points = [list(point[:2]) for point in line.points]
    few = len(points) <= 40
    curve: dict[str, Any] = {
        "type": "line", "data": points, "group": group, "z": 3, "symbol": "circle" if few else "none", "symbolSize": 6,
        "itemStyle": {"color": style.colour}, "lineStyle": {"color": style.colour, "width": 2}, **line.style,
    }  # fmt: skip
    ends: list[list[float | None]] = []
    for point in line.points:
        if len(point) > 3 and point[2] is not None and point[3] is not None:
            ends += [[point[0], point[2]], [point[0], point[3]], GAP]
    whiskers = {
        "type": "line", "data": ends, "silent": True, "symbol": "none", "group": group, "z": 2,
        "lineStyle": {"color": style.colour, "width": 1.5, "opacity": 0.6},
    }  # fmt: skip
    return [curve, whiskers] if ends else [curve]


def _lines_table(lines: Sequence[Line], x_title: str, y_title: str, most: int = 200) -> Table:
    """Return the points of all lines; long lines are thinned evenly."""
    columns = [Column("line"), Column(x_title, "number", 4), Column(y_title, "number", 4)]
    spans = any(len(point) > 3 and point[2] is not None for line in lines for point in line.points)
    columns += [Column("low", "number", 4), Column("high", "number", 4)] if spans else []
    rows = []
    for line in lines:
        step = max(-(-len(line.points) // most), 1)
        rows += [[line.name, *[*point, None, None][: len(columns) - 1]] for point in line.points[::step]]
    return Table(columns, rows, f"{y_title} over {x_title}", longest=LONGEST)
