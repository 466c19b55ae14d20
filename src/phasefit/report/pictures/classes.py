"""F1, precision and recall of each class as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.report.facts.classes import ClassScores, class_scores, weakest
from phasefit.report.limits import MOST_LISTED
from phasefit.report.pictures.canvas import BLUE, GRID, INK, ORANGE, blank, plain, save
from phasefit.report.pictures.fonts import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TALLEST = 30  # most bars in one column


def class_bars_figure(per_class: Mapping[str, Mapping[str, Any]], path: Path, split: str = "") -> None:
    """Draw `{name: {precision, recall, f1, support}}`, the best class first; of very many, only the weakest."""
    classes = class_scores(per_class)
    save(path, lambda names: draw(names, classes, split), [printable(name, 34) for name in per_class])


def draw(names: Sequence[str], classes: Sequence[ClassScores], split: str = "") -> Figure:
    """Return the figure, with the weakest class at the bottom right."""
    drawn_as = [replace(one, name=name) for one, name in zip(classes, names, strict=True)]
    ranked = weakest(one for one in drawn_as if one.support)
    shown = ranked[:MOST_LISTED][::-1]
    columns = max(-(-len(shown) // TALLEST), 1)
    rows = max(-(-len(shown) // columns), 1)
    bar = 0.32 if rows <= 20 else 0.25
    height = 0.9 + bar * max(rows, 3)
    figure = blank(7.6 * columns, height + 0.3)
    grid = figure.add_gridspec(2, columns, height_ratios=[height, 0.3])
    for column in range(columns):
        axes = plain(figure.add_subplot(grid[0, column]))
        part = shown[column * rows : (column + 1) * rows]
        draw_bars(axes, part, rows)
        if column == 0:
            some = len(shown) < len(ranked)
            title = f"The {len(shown)} weakest of {len(ranked)} classes" if some else "Scores of each class"
            absent = len(names) - len(ranked)
            without = f" ({absent} without rows not shown)" if absent else ""
            where = f", {split} rows" if split else ""
            axes.set_title(title + where + without, loc="left", color=INK, fontsize=11)
    below = figure.add_subplot(grid[1, :])
    below.set_axis_off()
    handles = figure.axes[0].get_legend_handles_labels()
    below.legend(*handles, loc="upper center", ncols=3, frameon=False, fontsize=8, labelcolor=INK)
    return figure


def draw_bars(axes: Axes, classes: Sequence[ClassScores], rows: int) -> None:
    """Draw one column of bars, the first at the top."""
    places = range(len(classes))
    axes.barh(places, [one.f1 for one in classes], height=0.66, color=BLUE, alpha=0.3, label="F1")
    for key, color, marker in (("precision", BLUE, "o"), ("recall", ORANGE, "D")):
        values = [getattr(one, key) for one in classes]
        axes.scatter(values, places, s=20, color=color, marker=marker, label=key, zorder=3, clip_on=False)
    for place, one in enumerate(classes):
        note = f"{one.f1:.2f}\u2003{one.support:,} row{'' if one.support == 1 else 's'}"
        axes.text(1.03, place, note, va="center", fontsize=8, color=INK)
    axes.set_yticks(places, [one.name for one in classes], fontsize=9 if rows <= 20 else 8)
    axes.tick_params(axis="y", pad=8)  # away from the markers at 0
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
