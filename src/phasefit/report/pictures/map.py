"""The embedding space before training and after each phase: the same texts, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.report.pictures.canvas import FAINT, GRID, INK, blank, plain, save
from phasefit.report.pictures.fonts import printable
from phasefit.report.pictures.layout import Floats, agreement, method, stage_layouts
from phasefit.runs.fitting.snapshots import BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ints = NDArray[np.integer[Any]]

# Twelve colours that stay apart on white, also for most who see fewer; each further dozen of classes has its own shape.
COLOURS = (
    *("#1f6fb4", "#e8710a", "#2a9d4b", "#c8262c", "#7d4fb5", "#8a5a3c"),
    *("#e377b8", "#17b3c4", "#b5a900", "#4a5560", "#84c77e", "#f4a3a0"),
)
MARKERS = ("o", "s", "^", "D", "X")
MOST_CLASSES = len(COLOURS) * len(MARKERS)
ABREAST = 4  # panels in one row
PANEL = 3.5  # inches


def map_figure(
    stages: Mapping[str, Floats],
    codes: Ints,
    names: Sequence[str],
    path: Path,
    texts: str = "texts",
    layouts: Mapping[str, Floats] | None = None,
    group: str = "class",
) -> None:
    """Draw the vectors (n, d) of each stage by name, in order; `codes` index `names`, `texts` is what they are of.

    Texts without labels, whose codes are all -1, are drawn in one colour. `layouts` are those of `stage_layouts`, for
    who has them already. `group` is what the names are of: a class, a level, a task.
    """
    codes = np.asarray(codes)
    placed = stage_layouts(stages) if layouts is None else layouts
    labelled = bool((codes >= 0).any())
    shares = [agreement(vectors, codes) if labelled else None for vectors in stages.values()]
    codes, names = (codes, names) if labelled else (np.zeros_like(codes), ())
    said = f"{len(codes):,} {texts}, laid out by {method(len(codes))}: near is alike, the axes mean nothing"
    save(path, lambda drawn: draw(placed, shares, codes, drawn, said, group), [printable(name, 30) for name in names])


def draw(
    layouts: Mapping[str, Floats],
    shares: Sequence[float | None],
    codes: Ints,
    names: Sequence[str],
    texts: str,
    group: str = "class",
) -> Figure:
    """Panels above, one legend for all of them below."""
    sizes = np.bincount(codes, minlength=len(names))
    present = np.flatnonzero(sizes)
    # The largest classes have colours; equally large ones in their own order.
    coloured = np.sort(present[np.argsort(-sizes[present], kind="stable")][:MOST_CLASSES])
    lines = -(-len(layouts) // ABREAST)
    abreast = -(-len(layouts) // lines)
    width = max(PANEL * abreast, 7.0)
    labels = [names[code] for code in coloured] if names else []
    if len(present) > len(coloured):
        labels.append(f"{len(present) - len(coloured)} smaller classes")
    size = 7.5 if len(labels) > 12 else 8.5
    columns = legend_columns(labels, width, size)
    below = 0.0205 * size * -(-len(labels) // columns) + 0.3
    figure = blank(width, (PANEL + 0.5) * lines + below)
    grid = figure.add_gridspec(lines + 1, abreast, height_ratios=[*[PANEL + 0.5] * lines, below])
    handles: list[Any] = []
    stages = list(layouts)
    for number, (stage, layout) in enumerate(layouts.items()):
        axes = plain(figure.add_subplot(grid[divmod(number, abreast)]))
        handles = scatter(axes, layout, codes, coloured)
        title = stage if stage == BEFORE else f"after {printable(stage, 24)}"
        axes.set_title(title, loc="left", color=INK, fontsize=11, pad=18)
        if (share := shares[number]) is not None:
            said = f"nearest text is of the same {group}: {share:.0%}"
            same = number > 0 and layout is layouts[stages[number - 1]]
            said += " (unchanged)" if same else ""
            axes.text(0, 1.02, said, transform=axes.transAxes, color=FAINT, fontsize=8)
    draw_legend(figure.add_subplot(grid[lines, :]), handles[: len(labels)], labels, columns, size, texts)
    return figure


def draw_legend(
    axes: Axes, handles: Sequence[Any], labels: Sequence[str], columns: int, size: float, title: str
) -> None:
    """The classes in columns on a panel of their own."""
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
    """The points of one stage, class by class; what the legend shows of them."""
    size = float(np.interp(len(codes), [50, 500], [26, 12]))
    rest = ~np.isin(codes, coloured)
    handles = []
    for number, code in enumerate(coloured):
        here = layout[codes == code]
        marker = MARKERS[number // len(COLOURS)]
        style: dict[str, Any] = {"s": size, "marker": marker, "linewidths": 0.3, "edgecolors": "white", "alpha": 0.9}
        handles.append(axes.scatter(here[:, 0], here[:, 1], color=COLOURS[number % len(COLOURS)], **style))
    if rest.any():
        here = layout[rest]
        handles.append(axes.scatter(here[:, 0], here[:, 1], s=size * 0.5, color="#c3cad1", linewidths=0, zorder=0.5))
    reach = max(float(np.abs(layout).max(initial=0.0)) * 1.06, 1e-6)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(GRID)
    return handles


def legend_columns(labels: Sequence[str], width: float, size: float) -> int:
    """As many columns as fit the width beside each other: all in one line, or columns as wide as the longest."""
    widths = [0.35 + 0.0083 * size * len(label) for label in labels]
    if sum(widths) <= width:
        return max(len(labels), 1)
    return max(int(width / max(widths)), 1)
