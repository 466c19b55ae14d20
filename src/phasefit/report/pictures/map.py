"""The embedding space before training and after each phase: the same texts, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.report.facts.layout import Floats
from phasefit.report.facts.map import PLURALS, EmbeddingMap, Ints, largest_groups
from phasefit.report.pictures.canvas import FAINT, GRID, INK, blank, plain, save
from phasefit.report.pictures.fonts import printable
from phasefit.runs.fitting.snapshots import BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Twelve colours that differ on white, also for most colour-blind readers; after twelve classes, the shape changes.
COLOURS = (
    *("#1f6fb4", "#e8710a", "#2a9d4b", "#c8262c", "#7d4fb5", "#8a5a3c"),
    *("#e377b8", "#17b3c4", "#b5a900", "#4a5560", "#84c77e", "#f4a3a0"),
)
MARKERS = ("o", "s", "^", "D", "X")
ABREAST = 4  # most panels in one row
PANEL = 3.5  # inches


def map_figure(shown: EmbeddingMap, path: Path) -> None:
    """Draw the map; texts without labels are in one colour."""
    names = [printable(name, 30) for name in shown.points.names]
    save(path, lambda drawn: draw(shown, drawn), names)


def draw(shown: EmbeddingMap, names: Sequence[str]) -> Figure:
    """Return the panels, with one legend for all of them below."""
    points, stages = shown.points, shown.stages
    codes = points.codes if names else np.zeros_like(points.codes)
    groups = largest_groups(codes)
    lines = -(-len(stages) // ABREAST)
    abreast = -(-len(stages) // lines)
    width = max(PANEL * abreast, 7.0)
    labels = [names[code] for code in groups.coloured] if names else []
    if groups.others:
        labels.append(f"{groups.others} smaller {PLURALS.get(points.group, f'{points.group}s')}")
    size = 7.5 if len(labels) > 12 else 8.5
    columns = legend_columns(labels, width, size)
    below = 0.0205 * size * -(-len(labels) // columns) + 0.3
    figure = blank(width, (PANEL + 0.5) * lines + below)
    grid = figure.add_gridspec(lines + 1, abreast, height_ratios=[*[PANEL + 0.5] * lines, below])
    handles: list[Any] = []
    for number, stage in enumerate(stages):
        axes = plain(figure.add_subplot(grid[divmod(number, abreast)]))
        handles = scatter(axes, stage.layout, codes, groups.coloured)
        title = stage.name if stage.name == BEFORE else f"after {printable(stage.name, 24)}"
        axes.set_title(title, loc="left", color=INK, fontsize=11, pad=18)
        if stage.share is not None:
            share = f"nearest text in the same {points.group}: {stage.share:.0%}"
            share += " (unchanged)" if stage.unchanged else ""
            axes.text(0, 1.02, share, transform=axes.transAxes, color=FAINT, fontsize=8)
    draw_legend(figure.add_subplot(grid[lines, :]), handles[: len(labels)], labels, columns, size, shown.how_laid_out)
    return figure


def draw_legend(
    axes: Axes, handles: Sequence[Any], labels: Sequence[str], columns: int, size: float, title: str
) -> None:
    """Draw the legend in columns on its own panel."""
    axes.set_axis_off()
    legend = axes.legend(
        handles,
        labels,
        loc="upper left",
        ncols=columns,
        frameon=False,
        fontsize=size,
        labelcolor=INK,
        borderaxespad=0,
        borderpad=0,
        handletextpad=0.2,
        columnspacing=1.0,
        markerscale=1.3,
    )
    legend.set_title(title)
    legend.get_title().set(color=FAINT, fontsize=8)
    legend.set_alignment("left")


def scatter(axes: Axes, layout: Floats, codes: Ints, coloured: Ints) -> list[Any]:
    """Draw the points of one stage by class; return the handles for the legend."""
    size = float(np.interp(len(codes), [50, 500], [26, 12]))
    rest = ~np.isin(codes, coloured)
    handles = []
    for number, code in enumerate(coloured):
        points = layout[codes == code]
        marker = MARKERS[number // len(COLOURS)]
        style: dict[str, Any] = {"s": size, "marker": marker, "linewidths": 0.3, "edgecolors": "white", "alpha": 0.9}
        handles.append(axes.scatter(points[:, 0], points[:, 1], color=COLOURS[number % len(COLOURS)], **style))
    if rest.any():
        points = layout[rest]
        handles.append(
            axes.scatter(points[:, 0], points[:, 1], s=size * 0.5, color="#c3cad1", linewidths=0, zorder=0.5)
        )
    reach = max(float(np.abs(layout).max(initial=0.0)) * 1.06, 1e-6)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(GRID)
    return handles


def legend_columns(labels: Sequence[str], width: float, size: float) -> int:
    """Return the number of columns that fit the width: all labels on one line, or columns as wide as the longest."""
    widths = [0.35 + 0.0083 * size * len(label) for label in labels]
    if sum(widths) <= width:
        return max(len(labels), 1)
    return max(int(width / max(widths)), 1)
