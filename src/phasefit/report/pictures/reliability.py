"""The reliability diagram: accuracy against confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.report.facts.calibration import Bin, Calibration
from phasefit.report.pictures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bins = Sequence[Bin]


def reliability_figure(
    calibration: Sequence[Mapping[str, Any]], error: float, path: Path, split: str = "", before: float | None = None
) -> None:
    """Draw the bins `{from, to, rows, confidence, accuracy}` of `metrics.json`, with the number of rows below."""
    facts = Calibration.of(calibration)
    save(path, lambda _: draw(facts, error, split, before))


def draw(calibration: Calibration, error: float, split: str = "", before: float | None = None) -> Figure:
    """Return accuracy against confidence, with the number of rows of each bin below."""
    figure = blank(5.6, 6.4)
    grid = figure.add_gridspec(3, 1, height_ratios=[3.6, 1, 0.5])
    above = figure.add_subplot(grid[0])
    below = figure.add_subplot(grid[1], sharex=above)
    draw_accuracy(plain(above), calibration.bins)
    draw_rows(plain(below), calibration.bins)
    above.tick_params(labelbottom=False)
    key = figure.add_subplot(grid[2])
    key.set_axis_off()
    handles = above.get_legend_handles_labels()
    key.legend(*handles, loc="upper center", ncols=2, frameon=False, fontsize=8, labelcolor=INK, borderaxespad=0)
    where = (f", {split} rows" if split else "") + ("" if before is None else f"\n({before:.3f} before calibration)")
    figure.suptitle(f"Expected calibration error (ECE) {error:.3f}{where}", x=0.02, ha="left", color=INK, fontsize=11)
    above.set_title(calibration.verdict, loc="left", color=FAINT, fontsize=8.5)
    below.set_xlabel("confidence: the probability of the predicted class", color=INK, fontsize=9)
    below.set_ylabel(f"rows (total {calibration.rows:,})", color=INK, fontsize=9)
    return figure


def draw_accuracy(axes: Axes, bins: Bins) -> None:
    """Draw one bar per bin with its 95 % interval; the gap to the confidence has its own colour."""
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
    left = np.array([each.start for each in bins])
    width = np.array([each.end for each in bins]) - left
    accuracy = np.array([each.accuracy for each in bins])
    confidence = np.array([each.confidence for each in bins])
    inset = width * 0.06
    place = {"x": left + inset, "width": width - 2 * inset, "align": "edge", "linewidth": 0}
    lower = np.minimum(accuracy, confidence)
    axes.bar(height=lower, color=BLUE, alpha=0.8, **place)
    for gap, color, label in (
        (confidence - lower, ORANGE, "overconfident"),
        (accuracy - lower, BLUE, "underconfident"),
    ):
        axes.bar(height=gap, bottom=lower, color=color, alpha=0.3, hatch="////", edgecolor=color, label=label, **place)
    start, end = left + inset, left + width - inset
    axes.hlines(accuracy, start, end, color=BLUE, linewidth=2, label="accuracy")
    axes.hlines(confidence, start, end, color=ORANGE, linewidth=2, label="mean confidence")
    spans = [each.interval for each in bins]
    low, high = zip(*spans, strict=True) if spans else ((), ())
    axes.vlines(left + width / 2, low, high, color=INK, linewidth=0.8, alpha=0.7, label="95 % interval of the accuracy")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.set_ylabel("accuracy", color=INK, fontsize=9)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def draw_rows(axes: Axes, bins: Bins) -> None:
    """Draw the number of rows of each bin."""
    for each in bins:
        width = each.end - each.start
        axes.bar(each.start + width * 0.06, each.rows, width=width * 0.88, align="edge", color=FAINT, alpha=0.6)
        axes.annotate(
            f"{each.rows:,}",
            ((each.start + each.end) / 2, each.rows),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7 if each.rows < 10_000 else 5.5,
            color=INK,
        )
    axes.set_yticks([])
    axes.margins(y=0.28)
