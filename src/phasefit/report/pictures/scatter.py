"""Predicted against true scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from phasefit.metrics.regression import pearson
from phasefit.report.pictures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scatter_figure(points: Sequence[Sequence[float]], path: Path, split: str = "") -> None:
    """Draw the `points` [true, predicted] of `metrics.json`."""
    save(path, lambda _: draw(points, split))


def draw(points: Sequence[Sequence[float]], split: str = "") -> Figure:
    """Return one point per row, the line of perfect predictions, and the mean prediction by true score."""
    figure = blank(5.6, 5.6)
    axes = plain(figure.add_subplot())
    true, predicted = np.asarray(points, dtype=np.float64).reshape(-1, 2).T
    low, high = float(min(true.min(), predicted.min())), float(max(true.max(), predicted.max()))
    room = (high - low) * 0.04 or 1.0
    axes.plot([low, high], [low, high], color=FAINT, linewidth=1, linestyle=(0, (4, 3)), label="perfect prediction")
    axes.scatter(true, predicted, s=9, color=BLUE, alpha=0.35, linewidths=0, label="one row")
    middle, mean = means(true, predicted)
    axes.plot(middle, mean, color=ORANGE, linewidth=2, marker="o", markersize=4, label="mean prediction")
    axes.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal")
    axes.set_xlabel("true score", color=INK, fontsize=9)
    axes.set_ylabel("predicted score", color=INK, fontsize=9)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left")
    correlation = pearson(true, predicted)
    pearson_text = "" if correlation is None else f", Pearson {correlation:.3f}"
    rows = " ".join(filter(None, (f"{len(true):,}", split, "row" if len(true) == 1 else "rows")))
    figure.suptitle(f"{rows}{pearson_text}", x=0.02, ha="left", color=INK, fontsize=11)
    return figure


def means(true: np.ndarray, predicted: np.ndarray, bins: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean true and predicted score of groups of rows with similar true scores, of about equal size."""
    cuts = np.unique(np.quantile(true, np.linspace(0, 1, bins + 1)[1:-1]))
    group = np.searchsorted(cuts, true, side="right")
    present = np.unique(group)
    return (
        np.array([true[group == each].mean() for each in present]),
        np.array([predicted[group == each].mean() for each in present]),
    )
