"""The geometry of the embedding space before training and after each phase: a small panel a figure."""

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
Lines = Mapping[str, NDArray[np.float64]]  # what a line is called, and its values by stage, not a number where missing


class Panel(NamedTuple):
    """A title, what is measured and which way is wanted, with classes and without, its lines, the least height.

    `lines` says what each line is called by its figure; several have a legend in place of what is measured.
    """

    title: str
    measured: tuple[str, str]
    wanted: tuple[str, str]
    lines: Mapping[str, str]
    span: float


PANELS = (
    Panel(
        "Alignment",
        ("squared distance of two texts of a class", "squared distance of the two texts of a pair"),
        ("lower: texts of a class are closer", "lower: texts of a pair are closer"),
        {"alignment": ""},
        0.2,
    ),
    Panel(
        "Uniformity",
        ("how evenly texts fill the space", "how evenly texts fill the space"),
        ("lower: more evenly; a classifier may raise it", "lower: more evenly"),
        {"uniformity": ""},
        0.4,
    ),
    Panel(
        "Cosine of two texts",
        ("", ""),
        ("wanted: high in a class, low between them", ""),
        {"within": "of one class", "between": "of different classes"},
        0.2,
    ),
    Panel(
        "Silhouette",
        ("1: classes are apart, 0: they touch", ""),
        ("higher: clearer classes", ""),
        {"silhouette": ""},
        0.2,
    ),
    Panel(
        "Anisotropy",
        ("cosine of any two texts; 1: all point one way", "cosine of any two texts; 1: all point one way"),
        ("lower: more directions are in use", "lower: more directions are in use"),
        {"anisotropy": ""},
        0.2,
    ),
)
WANTED_ALONE = {"within": "higher: texts of a class are closer", "between": "lower: classes are further apart"}
COLOURS = {"between": ORANGE}  # all others are blue
ABREAST = 3  # panels in one row
WIDTH, HEIGHT = 3.0, 1.55  # inches of the part of a panel that is drawn in
LEFT, BESIDE, ABOVE = 0.5, 0.75, 0.85  # inches: before the first panel, between two, for what stands over one
LINE = 0.165  # inches of a line of small letters
LETTER = 0.075  # inches of a small letter, amply
TURN = 25  # degrees that long names of stages are turned by


def geometry_figure(stages: Stages, path: Path, texts: str = "texts") -> None:
    """Draw figures by stage, as `metrics.json` has them under `geometry`; `texts` is what they are of."""
    names = ["before" if stage == BEFORE else printable(stage, 18) for stage in stages]
    save(path, lambda drawn: draw(list(stages.values()), drawn, texts), names, word="phase")


def draw(stages: Sequence[Mapping[str, Any]], names: Sequence[str], texts: str) -> Figure:
    """The panels that have anything to show, each of the same size however many there are."""
    shown = [(panel, lines) for panel in PANELS if (lines := lines_of(panel, stages))]
    rows = -(-len(shown) // ABREAST)
    abreast = -(-len(shown) // rows) if rows else 0
    turned = len(names) * LETTER * (max(map(len, names), default=0) + 1) > WIDTH
    below = LINE + 0.15 if not turned else LETTER * max(map(len, names)) * float(np.sin(np.radians(TURN))) + LINE + 0.1
    below_panels = captions(stages, names, texts, measured=bool(shown))
    foot = LINE * len(below_panels) + 0.1
    width = max(LEFT + abreast * (WIDTH + BESIDE), 5.0)
    height = rows * (ABOVE + HEIGHT + below) + foot
    figure = blank(width, height)
    figure.set_layout_engine(None)  # everything has its place: nothing to arrange, nothing that can collapse
    for place, (panel, lines) in enumerate(shown):
        row, column = divmod(place, abreast)
        left, top = LEFT + column * (WIDTH + BESIDE), height - row * (ABOVE + HEIGHT + below) - ABOVE
        axes = figure.add_axes((left / width, (top - HEIGHT) / height, WIDTH / width, HEIGHT / height))
        draw_panel(plain(axes), panel, lines, classes=has_classes(stages))
        how: dict[str, Any] = {"rotation": TURN, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        axes.set_xticks(np.arange(len(names)), names, **how)
    for number, line in enumerate(below_panels):
        figure.text(0.1 / width, (foot - 0.05 - LINE * number) / height, line, va="top", color=FAINT, fontsize=8)
    return figure


def lines_of(panel: Panel, stages: Sequence[Mapping[str, Any]]) -> Lines:
    """The values of the panel's figures that some stage has."""
    lines = {
        name: np.array([np.nan if (value := figures.get(name)) is None else value for figures in stages], np.float64)
        for name in panel.lines
    }
    return {name: values for name, values in lines.items() if np.isfinite(values).any()}


def captions(stages: Sequence[Mapping[str, Any]], names: Sequence[str], texts: str, *, measured: bool) -> list[str]:
    """What stands below the panels: what they are of, and how sure the classifier is, a single value as a rule."""
    count, pairs = (max((int(figures.get(name) or 0) for figures in stages), default=0) for name in ("texts", "pairs"))
    if not measured:
        return [f"{texts}: {count:,}, too few to measure"]
    lines = [f"{count:,} {texts}, the same at every stage" if len(stages) > 1 else f"{count:,} {texts}"]
    if pairs:
        lines[0] += f"; alignment is over {pairs:,} pairs"
    sure = [
        f"{name} {figures['confidence_entropy']:.2f} bits"
        + (f" of at most {most:.2f}" if (most := figures.get("most_entropy")) is not None else "")
        for name, figures in zip(names, stages, strict=True)
        if figures.get("confidence_entropy") is not None
    ]
    return lines + ([f"confidence entropy (0: the classifier is sure): {', '.join(sure)}"] if sure else [])


def draw_panel(axes: Axes, panel: Panel, lines: Lines, *, classes: bool) -> None:
    """A line a figure over the stages, with its values where it begins and ends."""
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
    """The title, what is measured (or what each line is), and which way is wanted."""
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
    """A value beside its point, above or below it."""
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
    """What the values need with some air, and never so little that noise looks like news."""
    values = np.concatenate(lines)
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    missing = max(span - (high - low), 0.0) / 2
    low, high = low - missing, high + missing
    air = 0.2 * (high - low)
    return low - air, high + air
