"""The geometry of the embedding space before training and after each phase: a small panel a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phasefit.runner.figures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save
from phasefit.runner.figures.fonts import printable
from phasefit.runner.snapshots import BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Stages = Mapping[str, Mapping[str, Any]]


class Panel(NamedTuple):
    """A title, how to read it, what each line is called by its figure, the least height, whether 0 is drawn too."""

    title: str
    reading: str
    lines: Mapping[str, str]
    span: float
    zero: bool = False


PANELS = (
    Panel("Alignment", "squared distance within a class: low is close", {"alignment": ""}, 0.2),
    Panel("Uniformity", "low: texts fill the space evenly", {"uniformity": ""}, 0.4),
    Panel("Cosine of two texts", "", {"within": "of one class", "between": "of different classes"}, 0.2),
    Panel("Silhouette", "1: classes are apart, 0: they touch", {"silhouette": ""}, 0.2),
    Panel("Anisotropy", "cosine of any two texts: 1 is one direction", {"anisotropy": ""}, 0.2),
    Panel("Confidence entropy", "bits: 0 if the classifier is sure", {"confidence_entropy": ""}, 0.2, zero=True),
)
COLOURS = (BLUE, ORANGE)
ABREAST = 3  # panels in one row
WIDTH, HEIGHT = 3.7, 2.7  # inches of a panel
LONG = 40  # letters beside each other that fit a panel; longer names of stages are turned


def geometry_figure(stages: Stages, path: Path, texts: str = "texts") -> None:
    """Draw figures by stage, as `metrics.json` has them under `geometry`; `texts` is what they are of."""
    names = ["before" if stage == BEFORE else printable(stage, 18) for stage in stages]
    save(path, lambda drawn: draw(list(stages.values()), drawn, texts), names, word="phase")


def draw(stages: Sequence[Mapping[str, Any]], names: Sequence[str], texts: str) -> Figure:
    """The panels that have anything to show."""
    known = {name for figures in stages for name, value in figures.items() if value is not None}
    panels = [panel for panel in PANELS if known.intersection(panel.lines)]
    abreast = min(max(len(panels), 1), ABREAST)
    rows = max(-(-len(panels) // abreast), 1)
    figure = blank(max(WIDTH * abreast, 5.0), HEIGHT * rows + 0.3)
    grid = figure.add_gridspec(rows, abreast, hspace=0.16, wspace=0.08)
    for place, panel in enumerate(panels):
        draw_panel(plain(figure.add_subplot(grid[divmod(place, abreast)])), panel, stages, names)
    count = max((int(figures.get("texts", 0)) for figures in stages), default=0)
    said = f"{count:,} {texts}, the same at every stage" if panels else f"{count:,} {texts}: too few to measure"
    figure.supxlabel(said, x=0.01, ha="left", color=FAINT, fontsize=8)
    return figure


def draw_panel(axes: Axes, panel: Panel, stages: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """A line a figure over the stages, with its values where it begins and ends."""
    at = np.arange(len(stages))
    lines = [np.array([figures.get(name, np.nan) for figures in stages], dtype=np.float64) for name in panel.lines]
    axes.set(xlim=(-0.4, len(stages) - 0.6), ylim=limits([*lines, np.zeros(int(panel.zero))], panel.span))
    upper = np.nanmean(lines[0]) >= np.nanmean(lines[-1]) if all(map(_any, lines)) else True
    for place, (values, name) in enumerate(zip(lines, panel.lines.values(), strict=True)):
        known = np.flatnonzero(np.isfinite(values))
        style: dict[str, Any] = {"linewidth": 1.8, "marker": "o", "markersize": 4.5, "clip_on": False}
        axes.plot(at[known], values[known], color=COLOURS[place], label=name, **style)
        for end, next_to in {known[0]: known[:2][-1], known[-1]: known[-2:][0]}.items() if len(known) else ():
            up = values[end] >= values[next_to] if len(lines) == 1 else (place == 0) == upper
            write_value(axes, int(end), float(values[end]), COLOURS[place], up=up)
    axes.set_title(panel.title, loc="left", color=INK, fontsize=11, pad=18)
    if len(lines) > 1:
        place_of: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1.0),
            "ncols": len(lines),
            "frameon": False,
        }
        axes.legend(**place_of, fontsize=8, labelcolor="linecolor", borderaxespad=0, borderpad=0.3, handlelength=1.2)
    else:
        axes.text(0, 1.035, panel.reading, transform=axes.transAxes, color=FAINT, fontsize=8)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.locator_params(axis="y", nbins=5)
    turned = len(names) * (max(map(len, names), default=0) + 1) > LONG
    axes.set_xticks(at, names, rotation=25 if turned else 0, ha="right" if turned else "center", rotation_mode="anchor")


def write_value(axes: Axes, place: int, value: float, color: str, *, up: bool) -> None:
    """A value beside its point, above or below it."""
    style: dict[str, Any] = {
        "ha": "center",
        "va": "bottom" if up else "top",
        "fontsize": 8,
        "color": color,
        "zorder": 1.9,
    }
    style["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    said = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
    axes.annotate(said, (place, value), xytext=(0, 5 if up else -5), textcoords="offset points", **style)


def limits(lines: Sequence[NDArray[np.float64]], span: float) -> tuple[float, float]:
    """What the values need with some air, and never so little that noise looks like news."""
    values = np.concatenate(lines)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    missing = max(span - (high - low), 0.0) / 2
    low, high = low - missing, high + missing
    air = 0.2 * (high - low)
    return low - air, high + air


def _any(values: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(values).any())
