"""Charts: an ECharts option as data, a label for screen readers, and the same data as a table.

A colour such as `@ink` or `@c3` refers to a colour of the page (page.css), which has light and dark variants. Texts of
users are never parsed as markup: tooltips are built as text nodes, and the names of series are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from phasefit.report.limits import COLOURS, SHAPES
from phasefit.report.page.parts import Table

MARKERS = ("circle", "rect", "triangle", "diamond", "roundRect")


@dataclass(frozen=True)
class Group:
    """An entry of the legend, which shows or hides all series that have its number as `group`."""

    name: str
    colour: str
    shape: str = "circle"
    hollow: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart with its legend and the table next to it."""

    option: Mapping[str, Any]
    label: str
    groups: Sequence[Group] = ()
    table: Table | None = None
    height: int = 320
    layout: Literal["wide", "small", "map"] = "wide"  # "small" is as wide as a column of text, "map" is square
    more: Mapping[str, Any] = field(default_factory=dict)  # additional data for the scripts of the page

    @property
    def spec(self) -> dict[str, Any]:
        """The data that the scripts of the page draw."""
        return {"option": self.option, "groups": [vars(group) for group in self.groups], **self.more}


def colour(place: int) -> tuple[str, str]:
    """Return the colour and the shape of the group with this number: twelve colours, then the next shape."""
    return f"@c{place % COLOURS}", MARKERS[place // COLOURS % SHAPES]


def value_axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis of numbers with the common style."""
    axis: dict[str, Any] = {
        "type": "value",
        "name": title,
        "nameLocation": "middle",
        "scale": True,
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": {"color": "@faint", "hideOverlap": True},
        "nameTextStyle": {"color": "@faint"},
        "splitLine": {"lineStyle": {"color": "@grid"}},
    }
    return axis | more


def category_axis(names: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return an axis of names, the first one at the top."""
    axis: dict[str, Any] = {
        "type": "category",
        "data": list(names),
        "inverse": True,
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": {"color": "@ink", "overflow": "truncate", "width": 220, "interval": 0},
    }
    return axis | more


def base_option(trigger: str = "item", **more: Any) -> dict[str, Any]:
    """Return the options that all charts share."""
    return {
        "animationDuration": 0,
        "animationDurationUpdate": 0,
        "grid": {"left": 8, "right": 16, "top": 12, "bottom": 8},
        "tooltip": {"trigger": trigger, "confine": True},
        **more,
    }
