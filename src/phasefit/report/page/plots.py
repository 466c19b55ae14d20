"""The plots that pages share: values with their intervals, points, and lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phasefit.report.page.chart import Chart, Group, base_option, category_axis, colour, value_axis
from phasefit.report.page.parts import Column, Table
from phasefit.report.text import shortened

LINE = 26  # pixels of a line of an interval plot
LONGEST = 60  # characters of a name
GAP: list[float | None] = [None, None]  # where a line is interrupted


@dataclass(frozen=True)
class Spot:
    """A value of a variant, with its interval, and what is known of it from elsewhere."""

    of: str  # the heading that it stands below, e.g. a dataset
    name: str  # the variant, which has its own colour
    value: float
    low: float | None = None
    high: float | None = None
    elsewhere: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """A curve: its name and its points (x, y), each perhaps with an interval."""

    name: str
    points: Sequence[Sequence[float | None]]  # x, y, and perhaps low, high
    colour: str = ""  # one of the page's; without, the next one
    style: Mapping[str, Any] = field(default_factory=dict)  # of the series, on top of what all lines have


def interval_plot(spots: Sequence[Spot], x_title: str, label: str, elsewhere: str = "") -> Chart:
    """Dots and whiskers, a line each, below the headings they belong to; hollow marks are values from elsewhere."""
    places, axis = _lines_of(spots)
    names = list(dict.fromkeys(spot.name for spot in spots))
    groups = [Group(shortened(name, LONGEST), *colour(place)) for place, name in enumerate(names)]
    series = [made for group, name in enumerate(names) for made in _dots(group, groups[group], name, spots, places)]
    if elsewhere and any(spot.elsewhere is not None for spot in spots):
        groups.append(Group(elsewhere, "@ink", "diamond", hollow=True))
        series.append(_hollow(len(groups) - 1, spots, places, elsewhere))
    option = base_option(xAxis=value_axis(x_title), yAxis=category_axis(axis), series=series)
    option["yAxis"]["axisLabel"]["margin"] = 12
    narrow = {"yAxis": {"axisLabel": {"width": 110}}}
    return Chart(
        option, label, groups, _as_table(spots, x_title, elsewhere), LINE * len(axis) + 70, more={"narrow": narrow}
    )


def _lines_of(spots: Sequence[Spot]) -> tuple[list[int], list[Any]]:
    """The line of each spot, and what stands on the axis: with several headings each has a line of its own."""
    headings = list(dict.fromkeys(spot.of for spot in spots))
    axis: list[Any] = []
    places = [0] * len(spots)
    for heading in headings:
        if len(headings) > 1:
            axis.append({"value": shortened(heading, LONGEST), "textStyle": {"fontWeight": "bold"}})
        for number, spot in enumerate(spots):
            if spot.of == heading:
                places[number] = len(axis)
                axis.append(shortened(spot.name, LONGEST))
    return places, axis


def _dots(group: int, look: Group, name: str, spots: Sequence[Spot], places: Sequence[int]) -> list[dict[str, Any]]:
    """The dots of one variant, and its whiskers: one line, interrupted between them."""
    own = [(spot, place) for spot, place in zip(spots, places, strict=True) if spot.name == name]
    dots = [{"value": [spot.value, place], "tip": _tip(spot)} for spot, place in own]
    ends: list[list[float | None]] = []
    for spot, place in own:
        if spot.low is not None and spot.high is not None:
            ends += [[spot.low, place], [spot.high, place], GAP]
    style = {"color": look.colour}
    whiskers = {
        "type": "line", "data": ends, "silent": True, "symbol": "none", "group": group, "z": 2,
        "lineStyle": {**style, "width": 2, "opacity": 0.75}, "itemStyle": style,
    }  # fmt: skip
    dot = {"type": "scatter", "data": dots, "symbol": look.shape, "symbolSize": 10, "itemStyle": style, "z": 3}
    return [whiskers, {**dot, "group": group}]


def _hollow(group: int, spots: Sequence[Spot], places: Sequence[int], source: str) -> dict[str, Any]:
    known = [(spot, place) for spot, place in zip(spots, places, strict=True) if spot.elsewhere is not None]
    return {
        "type": "scatter",
        "data": [
            {"value": [s.elsewhere, place], "tip": [s.name, f"{source}: {s.elsewhere:.4g}"]} for s, place in known
        ],
        "symbol": "diamond",
        "symbolSize": 12,
        "itemStyle": {"color": "@card", "borderColor": "@ink", "borderWidth": 1.5, "opacity": 0.9},
        "group": group,
        "z": 4,
    }


def _tip(spot: Spot) -> list[str]:
    span = "" if spot.low is None or spot.high is None else f" ({spot.low:.4f} to {spot.high:.4f})"
    return [line for line in (f"{spot.name}, {spot.of}", f"{spot.value:.4f}{span}", spot.note) if line]


def _as_table(spots: Sequence[Spot], title: str, elsewhere: str) -> Table:
    numbers = [Column(name, "number", 4) for name in (title, "low", "high")]
    columns = [Column("variant"), Column("of"), *numbers, *([Column(elsewhere, "number", 4)] if elsewhere else [])]
    rows = [
        [spot.name, spot.of, spot.value, spot.low, spot.high, *([spot.elsewhere] if elsewhere else [])]
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
    """Points by group; `log` spreads the horizontal axis over powers of ten."""
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
    """Curves over one axis; the interval of a point is a whisker. `axes` has more to say of `x` or `y`."""
    groups, series = [], []
    for place, line in enumerate(lines):
        look = Group(shortened(line.name, LONGEST), line.colour or colour(place)[0], "line")
        groups.append(look)
        series += _curve(place, look, line)
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
        look="small" if small else "wide",
        more=more,
    )


def _curve(group: int, look: Group, line: Line) -> list[dict[str, Any]]:
    points = [list(point[:2]) for point in line.points]
    few = len(points) <= 40
    curve: dict[str, Any] = {
        "type": "line", "data": points, "group": group, "z": 3, "symbol": "circle" if few else "none", "symbolSize": 6,
        "itemStyle": {"color": look.colour}, "lineStyle": {"color": look.colour, "width": 2}, **line.style,
    }  # fmt: skip
    ends: list[list[float | None]] = []
    for point in line.points:
        if len(point) > 3 and point[2] is not None and point[3] is not None:
            ends += [[point[0], point[2]], [point[0], point[3]], GAP]
    whiskers = {
        "type": "line", "data": ends, "silent": True, "symbol": "none", "group": group, "z": 2,
        "lineStyle": {"color": look.colour, "width": 1.5, "opacity": 0.6},
    }  # fmt: skip
    return [curve, whiskers] if ends else [curve]


def _lines_table(lines: Sequence[Line], x_title: str, y_title: str, most: int = 200) -> Table:
    """The points of all lines; of long ones some, evenly."""
    columns = [Column("line"), Column(x_title, "number", 4), Column(y_title, "number", 4)]
    spans = any(len(point) > 3 and point[2] is not None for line in lines for point in line.points)
    columns += [Column("low", "number", 4), Column("high", "number", 4)] if spans else []
    rows = []
    for line in lines:
        step = max(-(-len(line.points) // most), 1)
        rows += [[line.name, *[*point, None, None][: len(columns) - 1]] for point in line.points[::step]]
    return Table(columns, rows, f"{y_title} over {x_title}", longest=LONGEST)
