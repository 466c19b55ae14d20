"""The geometry of the embedding space before training and after each phase: one small panel per measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.geometry import has_classes
from phasefit.report.pictures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save
from phasefit.report.pictures.fonts import printable
from phasefit.runs.fitting.snapshots import BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Stages = Mapping[str, Mapping[str, Any]]
Lines = Mapping[str, NDArray[np.float64]]  # the values of each measure by stage, NaN where missing


class Panel(NamedTuple):
    """A panel: its title, what it measures, which direction is better, its lines and the smallest range of its axis.

    `measured` and `wanted` have a text for runs with classes and one without. `lines` maps measures to names of lines;
    with several lines, a legend replaces `measured`.
    """

    title: str
    measured: tuple[str, str]
    wanted: tuple[str, str]
    lines: Mapping[str, str]
    span: float


PANELS = (
    Panel(
        "Alignment",
        ("squared distance between texts of a class", "squared distance between the texts of a pair"),
        ("lower: texts of a class are closer", "lower: texts of a pair are closer"),
        {"alignment": ""},
        0.2,
    ),
    Panel(
        "Uniformity",
        ("how evenly texts fill the space", "how evenly texts fill the space"),
        ("lower: more even; a classifier may raise it", "lower: more even"),
        {"uniformity": ""},
        0.4,
    ),
    Panel(
        "Cosine similarity",
        ("", ""),
        ("good: high within a class, low between classes", ""),
        {"within": "same class", "between": "different classes"},
        0.2,
    ),
    Panel(
        "Silhouette",
        ("1: separate classes, 0: overlapping classes", ""),
        ("higher: better separated classes", ""),
        {"silhouette": ""},
        0.2,
    ),
    Panel(
        "Anisotropy",
        ("mean cosine of any two texts; 1: all similar", "mean cosine of any two texts; 1: all similar"),
        ("lower: more directions are used", "lower: more directions are used"),
        {"anisotropy": ""},
        0.2,
    ),
)
WANTED_ALONE = {"within": "higher: texts of a class are closer", "between": "lower: classes are further apart"}
COLOURS = {"between": ORANGE}  # all others are blue
ABREAST = 3  # panels in one row
WIDTH, HEIGHT = 3.0, 1.55  # of the plot area of a panel, in inches
LEFT, BETWEEN, ABOVE = 0.5, 0.75, 0.85  # inches: left of the first panel, between panels, for the text above one
LINE = 0.165  # height of a line of small text in inches
LETTER = 0.075  # generous width of a small letter in inches
TURN = 25  # rotation of long stage names in degrees


def geometry_figure(stages: Stages, path: Path, texts: str = "texts") -> None:
    """Draw `geometry` of `metrics.json`, measures by stage; `texts` describes the texts that were measured."""
    names = ["before" if stage == BEFORE else printable(stage, 18) for stage in stages]
    save(path, lambda drawn: draw(list(stages.values()), drawn, texts), names, word="phase")


def draw(stages: Sequence[Mapping[str, Any]], names: Sequence[str], texts: str) -> Figure:
    """Return the panels that have data, all of the same size."""
    shown = [(panel, lines) for panel in PANELS if (lines := lines_of(panel, stages))]
    rows = -(-len(shown) // ABREAST)
    abreast = -(-len(shown) // rows) if rows else 0
    turned = len(names) * LETTER * (max(map(len, names), default=0) + 1) > WIDTH
    below = LINE + 0.15 if not turned else LETTER * max(map(len, names)) * float(np.sin(np.radians(TURN))) + LINE + 0.1
    below_panels = captions(stages, names, texts, measured=bool(shown))
    foot = LINE * len(below_panels) + 0.1
    width = max(LEFT + abreast * (WIDTH + BETWEEN), 5.0)
    height = rows * (ABOVE + HEIGHT + below) + foot
    figure = blank(width, height)
    figure.set_layout_engine(None)  # positions are computed below
    for place, (panel, lines) in enumerate(shown):
        row, column = divmod(place, abreast)
        left, top = LEFT + column * (WIDTH + BETWEEN), height - row * (ABOVE + HEIGHT + below) - ABOVE
        axes = figure.add_axes((left / width, (top - HEIGHT) / height, WIDTH / width, HEIGHT / height))
        draw_panel(plain(axes), panel, lines, classes=has_classes(stages))
        how: dict[str, Any] = {"rotation": TURN, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        axes.set_xticks(np.arange(len(names)), names, **how)
    for number, line in enumerate(below_panels):
        figure.text(0.1 / width, (foot - 0.05 - LINE * number) / height, line, va="top", color=FAINT, fontsize=8)
    return figure


def lines_of(panel: Panel, stages: Sequence[Mapping[str, Any]]) -> Lines:
    """Return the measures of the panel that have a value at some stage."""
    lines = {
        name: np.array([np.nan if (value := figures.get(name)) is None else value for figures in stages], np.float64)
        for name in panel.lines
    }
    return {name: values for name, values in lines.items() if np.isfinite(values).any()}


def captions(stages: Sequence[Mapping[str, Any]], names: Sequence[str], texts: str, *, measured: bool) -> list[str]:
    """Return the text below the panels: the measured texts, and the confidence entropy of the classifier."""
    count, pairs = (max((int(figures.get(name) or 0) for figures in stages), default=0) for name in ("texts", "pairs"))
    if not measured:
        return [f"{count:,} {texts}: too few to measure"]
    lines = [f"{count:,} {texts}, the same at every stage" if len(stages) > 1 else f"{count:,} {texts}"]
    if pairs:
        lines[0] += f"; alignment uses {pairs:,} pairs"
    entropies = [
        f"{name} {figures['confidence_entropy']:.2f} bits"
        + (f" (maximum {most:.2f})" if (most := figures.get("most_entropy")) is not None else "")
        for name, figures in zip(names, stages, strict=True)
        if figures.get("confidence_entropy") is not None
    ]
    return lines + ([f"confidence entropy (0: fully confident): {', '.join(entropies)}"] if entropies else [])


def draw_panel(axes: Axes, panel: Panel, lines: Lines, *, classes: bool) -> None:
    """Draw each measure over the stages, with its first and last value."""
    stages = len(next(iter(lines.values())))
    axes.set(xlim=(-0.4, stages - 0.6), ylim=limits(list(lines.values()), panel.span))
    means = {name: float(np.nanmean(values)) for name, values in lines.items()}
    for name, values in lines.items():
        known = np.flatnonzero(np.isfinite(values))
        colour = COLOURS.get(name, BLUE)
        style: dict[str, Any] = {"linewidth": 1.8, "marker": "o", "markersize": 4.5, "clip_on": False}
        axes.plot(known, values[known], color=colour, label=panel.lines[name], **style)
        upper = name == max(means, key=lambda line: means[line])
        for end, next_to in {known[0]: known[:2][-1], known[-1]: known[-2:][0]}.items():
            up = bool(values[end] >= values[next_to]) if len(lines) == 1 else upper
            write_value(axes, int(end), float(values[end]), colour, up=up)
    write_above(axes, panel, lines, classes=classes)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.locator_params(axis="y", nbins=5)


def write_above(axes: Axes, panel: Panel, lines: Lines, *, classes: bool) -> None:
    """Write the title, what is measured (or the legend), and which direction is better."""
    over = [(1 + (0.09 + LINE * number) / HEIGHT) for number in range(3)]
    axes.text(0, over[2] + 0.02, panel.title, transform=axes.transAxes, color=INK, fontsize=11)
    wanted = panel.wanted[0 if classes else 1]
    if panel.measured[0]:
        measured = panel.measured[0 if classes else 1]
        axes.text(0, over[1], measured, transform=axes.transAxes, color=FAINT, fontsize=8)
    else:
        wanted = wanted if len(lines) > 1 else WANTED_ALONE[next(iter(lines))]
        style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": "linecolor", "handlelength": 1.2}
        style |= {"borderaxespad": 0, "borderpad": 0, "columnspacing": 1.2, "ncols": len(lines)}
        axes.legend(loc="lower left", bbox_to_anchor=(0, over[1] - 0.02), **style)
    axes.text(0, over[0], wanted, transform=axes.transAxes, color=FAINT, fontsize=8)


def write_value(axes: Axes, place: int, value: float, color: str, *, up: bool) -> None:
    """Write a value above or below its point."""
    style: dict[str, Any] = {
        "ha": "center",
        "va": "bottom" if up else "top",
        "fontsize": 8,
        "color": color,
        "zorder": 1.9,
    }
    style["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    text = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
    axes.annotate(text, (place, value), xytext=(0, 5 if up else -5), textcoords="offset points", **style)


def limits(lines: Sequence[NDArray[np.float64]], span: float) -> tuple[float, float]:
    """Return the range of an axis: the values with a margin, and at least `span`, so that noise does not look large."""
    values = np.concatenate(lines)
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    missing = max(span - (high - low), 0.0) / 2
    low, high = low - missing, high + missing
    margin = 0.2 * (high - low)
    return low - margin, high + margin
