"""Charts: an ECharts option as data, a name for those who do not see it, and the same figures as a table.

What reads like `@ink` or `@c3` where a colour is due is a colour of the page (page.css), which light and dark know.
Texts of users are never read as markup: tooltips are built as text nodes, and series have numbers for names.
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
    """What the legend can switch on and off: all series that carry its number as `group`."""

    name: str
    colour: str
    shape: str = "circle"
    hollow: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart; `stages` are positions of the same points that a slider goes through."""

    option: Mapping[str, Any]
    label: str
    groups: Sequence[Group] = ()
    table: Table | None = None
    height: int = 320
    look: Literal["wide", "small", "map"] = "wide"  # a small one is no wider than a page of text, a map square
    more: Mapping[str, Any] = field(default_factory=dict)  # what a script of the page wants to know besides

    @property
    def spec(self) -> dict[str, Any]:
        """What the page's scripts draw it from."""
        return {"option": self.option, "groups": [vars(group) for group in self.groups], **self.more}


def colour(place: int) -> tuple[str, str]:
    """The colour and the shape of the group with this number: twelve colours in five shapes."""
    return f"@c{place % COLOURS}", MARKERS[place // COLOURS % SHAPES]


def value_axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis of numbers as all charts have it."""
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
    """An axis of names, the first one on top."""
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
    """What all options share."""
    return {
        "animationDuration": 0,
        "animationDurationUpdate": 0,
        "grid": {"left": 8, "right": 16, "top": 12, "bottom": 8},
        "tooltip": {"trigger": trigger, "confine": True},
        **more,
    }
