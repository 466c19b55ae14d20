"""The confusion matrix as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.runner.figures.canvas import INK, blank, plain, printable, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COUNTS = 30  # classes up to which a count still fits into its cell
MOST_NAMES = 200  # classes up to which a name still fits beside its row


def confusion_figure(confusion: Mapping[str, Any], path: Path) -> None:
    """Draw `{labels, matrix}`: a row is a true class, its colours its shares, its numbers its counts."""
    from matplotlib.colors import PowerNorm

    counts = np.asarray(confusion["matrix"], dtype=np.int64)
    classes = len(counts)
    rows, hits = int(counts.sum()), int(np.trace(counts))
    cell = float(np.interp(classes, [4, 12, 30, 60, 200], [0.75, 0.55, 0.36, 0.21, 0.12]))
    side = max(cell * classes, 2.4)
    figure = blank(side + 2.6, side + 2.1)
    axes = plain(figure.add_subplot())
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # The root spreads the small shares, where the mistakes are.
    image = axes.imshow(shares, cmap="Blues", norm=PowerNorm(0.6, vmin=0, vmax=1))
    between = np.arange(classes + 1) - 0.5
    axes.hlines(between, -0.5, classes - 0.5, color="white", linewidth=min(1.0, cell * 2))
    axes.vlines(between, -0.5, classes - 0.5, color="white", linewidth=min(1.0, cell * 2))
    name_classes(axes, [printable(name) for name in confusion["labels"]], cell)
    if classes <= MOST_COUNTS:
        write_counts(axes, counts, shares, cell)
    axes.set_xlabel("predicted", color=INK, fontsize=10)
    axes.set_ylabel("true", color=INK, fontsize=10)
    right = f"{hits:,} of {rows:,} right" + (f" ({hits / rows:.1%})" if rows else "")
    axes.set_title(right, color=INK, fontsize=11, loc="left", pad=10)
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=25, pad=0.02, format=lambda share, _: f"{share:.0%}")
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, colors=INK)
    bar.set_label("share of the true class", fontsize=8, color=INK)
    save(figure, path, dpi=150 if classes <= 60 else 100)


def name_classes(axes: Axes, names: list[str], cell: float) -> None:
    """Class names along both sides, as large as a cell allows."""
    if len(names) > MOST_NAMES:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    size = min(9.0, cell * 34)
    places = range(len(names))
    upright = cell < 0.3
    turn = {"rotation": 90} if upright else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(places, names, fontsize=size, parse_math=False, **turn)
    axes.set_yticks(places, names, fontsize=size, parse_math=False)


def write_counts(axes: Axes, counts: NDArray[np.int64], shares: NDArray[np.float64], cell: float) -> None:
    """The count in each cell that has one, light on dark."""
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
