"""The confusion matrix as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.report.facts.confusion import ConfusedPair, Confusion
from phasefit.report.limits import MOST_IN_MATRIX, MOST_LISTED
from phasefit.report.pictures.canvas import FAINT, INK, blank, plain, save, text_columns
from phasefit.report.pictures.fonts import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

Counts = NDArray[np.int64]

MOST_KEYS = 300  # most classes with a key
FEW = 12  # with at most this many classes, the matrix alone shows the mistakes
PAIRS = 12  # number of confused pairs that are listed
TURN = 0.3  # inches; names are vertical if cells are smaller
LINE = 0.17  # height of a line of small print in inches


def confusion_figure(confusion: Mapping[str, Any], path: Path, split: str = "") -> None:
    """Draw `{labels, matrix}`: each row is a true class, colours are shares of it, numbers are counts."""
    facts = Confusion.of(confusion)
    save(path, lambda names: draw(facts, names, split), [printable(name) for name in facts.names])


def draw(confusion: Confusion, names: Sequence[str], split: str = "") -> Figure:
    """Return the matrix and, with many classes, the most confused pairs and a key below it."""
    counts, shares = confusion.counts, confusion.shares
    classes, rows, hits = len(counts), int(counts.sum()), int(np.trace(counts))
    cell = float(np.interp(classes, [4, 12, 30, 60, 150, 300], [0.75, 0.55, 0.36, 0.19, 0.078, 0.04]))
    side = min(max(cell * classes, 2.4), 12.0)
    labels = 0.3 if classes > MOST_LISTED else 0.0078 * min(9.0, cell * 36) * max(map(len, names), default=0)
    width = side + labels + 0.6
    pairs = confusion.pairs(PAIRS) if classes > FEW else []
    blocks = small_print(counts, pairs, names, side)
    heights = [-(-len(lines) // columns) * LINE + 0.35 for _, lines, columns in blocks]
    figure = blank(
        width, side + (labels if cell < TURN or classes > MOST_LISTED else labels * 0.7) + 0.8 + sum(heights)
    )
    grid = figure.add_gridspec(1 + len(blocks), 1, height_ratios=[figure.get_figheight() - sum(heights), *heights])
    axes = plain(figure.add_subplot(grid[0]))
    paint(axes, shares, cell, side)
    name_classes(axes, names, cell)
    if classes <= MOST_IN_MATRIX:
        write_counts(axes, counts, shares, cell)
    axes.set_xlabel("predicted", color=INK, fontsize=10)
    axes.set_ylabel("true", color=INK, fontsize=10)
    where = f" {split} rows" if split else ""
    accuracy = f" ({hits / rows:.1%})" if rows else ""
    axes.set_title(f"{hits:,} of {rows:,}{where} correct{accuracy}", color=INK, fontsize=11, loc="left", pad=10)
    for number, (heading, lines, columns) in enumerate(blocks, start=1):
        below = figure.add_subplot(grid[number])
        text_columns(below, lines, columns, 7.5)
        below.set_title(heading, loc="left", fontsize=9, color=INK)
    return figure


def paint(axes: Axes, shares: NDArray[np.float64], cell: float, side: float) -> None:
    """Colour correct cells blue and wrong cells orange, each by its share of the true class."""
    classes = len(shares)
    right, wrong = scale("Blues"), scale("Oranges")
    picture = np.where(np.eye(classes, dtype=bool)[..., None], right.to_rgba(shares), wrong.to_rgba(shares))
    picture[shares == 0] = (0.972, 0.976, 0.98, 1.0)
    pixels = (picture * 255).round().astype(np.uint8)
    fine = max(1200 // classes, 1)  # many pixels per cell, because SVG viewers blur small images
    extent = (-0.5, classes - 0.5, classes - 0.5, -0.5)
    axes.imshow(pixels.repeat(fine, axis=0).repeat(fine, axis=1), interpolation="nearest", extent=extent)
    if cell >= 0.15:
        between = np.arange(classes + 1) - 0.5
        axes.hlines(between, -0.5, classes - 0.5, color="white", linewidth=min(1.0, cell * 2))
        axes.vlines(between, -0.5, classes - 0.5, color="white", linewidth=min(1.0, cell * 2))
    key = plain(axes.inset_axes((1 + 0.12 / side, 0.5 - 0.9 / side, 0.36 / side, 1.8 / side)))
    shades = np.linspace(1, 0, 128)
    key.imshow(np.stack([right.to_rgba(shades), wrong.to_rgba(shades)], axis=1), extent=(0, 2, 0, 1), aspect="auto")
    key.axvline(1, color="white", linewidth=1.5)
    key.set_xticks([0.5, 1.5], ["correct", "wrong"], rotation=90, fontsize=7)
    key.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"], fontsize=7)
    key.yaxis.tick_right()
    key.set_title("share of the\ntrue class", fontsize=7, color=INK, loc="left")


def scale(name: str) -> ScalarMappable:
    """Return a colour scale that spreads small shares, where the mistakes are, and starts clearly darker than white."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, PowerNorm

    shades = colormaps[name](np.linspace(0.12, 1.0, 256))
    return ScalarMappable(PowerNorm(0.6, vmin=0, vmax=1), ListedColormap(shades))


def name_classes(axes: Axes, names: Sequence[str], cell: float) -> None:
    """Write class names along both sides, as large as a cell allows; numbers if there are too many classes."""
    places = list(range(len(names)))
    if len(names) > MOST_LISTED:
        step = 10 if len(names) <= 200 else 50
        marked = [0, *range(step - 1, len(names), step)]
        for at in marked[1:]:
            axes.axhline(at + 0.5, color=FAINT, linewidth=0.3)
            axes.axvline(at + 0.5, color=FAINT, linewidth=0.3)
        axes.set_xticks(marked, [str(place + 1) for place in marked], fontsize=8)
        axes.set_yticks(marked, [str(place + 1) for place in marked], fontsize=8)
        return
    size = min(9.0, cell * 36)
    upright = cell < TURN
    turn = {"rotation": 90} if upright else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(places, names, fontsize=size, **turn)
    axes.set_yticks(places, names, fontsize=size)


def write_counts(axes: Axes, counts: Counts, shares: NDArray[np.float64], cell: float) -> None:
    """Write the count into each cell that is not empty, white on dark cells."""
    longest = len(str(counts.max(initial=0)))
    size = min(10.0, cell * 26, cell * 95 / max(longest, 1))
    for true, predicted in np.argwhere(counts):
        axes.text(
            predicted,
            true,
            str(counts[true, predicted]),
            ha="center",
            va="center",
            fontsize=size,
            color="white" if shares[true, predicted] > 0.4 else INK,
            fontweight="bold" if true == predicted else "normal",
        )


def small_print(
    counts: Counts, pairs: Sequence[ConfusedPair], names: Sequence[str], width: float
) -> list[tuple[str, list[str], int]]:
    """Return blocks of text (title, lines, columns): the most confused pairs, and the key of the class numbers."""
    blocks = []
    numbered = len(names) > MOST_LISTED
    if pairs:
        lines = [
            f"{pair.rows:,} of {counts[pair.true].sum():,}\u2003"
            + f"{name(names, pair.true, numbered)} predicted as {name(names, pair.predicted, numbered)}"
            for pair in pairs
        ]
        blocks.append(("Most often confused", lines, max(int(width // (0.3 + 0.0625 * max(map(len, lines)))), 1)))
    if numbered and len(names) <= MOST_KEYS:
        key = [name(names, place, numbered=True) for place in range(len(names))]
        blocks.append(("Classes by number", key, max(int(width // (0.3 + 0.0625 * max(map(len, key)))), 1)))
    return blocks


def name(names: Sequence[str], place: int, numbered: bool) -> str:
    """Return the name of a class, after its number if the matrix shows numbers."""
    return f"{place + 1}\u2002{names[place]}" if numbered else names[place]
