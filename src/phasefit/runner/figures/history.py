"""How training went: loss and watched score of each phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.runner.figures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, printable, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Entries = Sequence[Mapping[str, Any]]
COLUMNS = 3


def history_figure(history: Entries, path: Path) -> None:
    """Draw `history.json`, one panel a phase: the loss of each step, the watched score of each validation."""
    phases = list(dict.fromkeys(str(entry["phase"]) for entry in history))
    columns = min(COLUMNS, max(len(phases), 1))
    rows = -(-len(phases) // columns) or 1
    figure = blank(4.6 * columns, 3.2 * rows)
    for index, phase in enumerate(phases):
        axes = plain(figure.add_subplot(rows, columns, index + 1))
        entries = [entry for entry in history if entry["phase"] == phase]
        axes.set_title(printable(phase, 40), loc="left", color=INK, fontsize=11, parse_math=False)
        axes.set_xlabel("step", color=INK, fontsize=8)
        axes.grid(color=GRID, linewidth=0.8)
        draw_loss(axes, [entry for entry in entries if entry.get("loss") is not None])
        draw_score(axes, [entry for entry in entries if entry.get("scores")])
    save(figure, path)


def draw_loss(axes: Axes, steps: Entries) -> None:
    """Every step's loss faintly, its running mean clearly."""
    if not steps:
        axes.set_yticks([])
        return
    at = [entry["step"] for entry in steps]
    loss = np.array([entry["loss"] for entry in steps], dtype=np.float64)
    axes.plot(at, loss, color=BLUE, alpha=0.25, linewidth=0.8, marker="o" if len(at) == 1 else None)
    axes.plot(at, running_mean(loss, max(1, len(loss) // 20)), color=BLUE, linewidth=1.8)
    axes.set_ylabel("loss", color=BLUE, fontsize=9)


def draw_score(axes: Axes, validations: Entries) -> None:
    """The watched score on an axis of its own, its best marked."""
    if not validations:
        return
    watched = str(validations[-1].get("watch") or next(iter(validations[-1]["scores"])))
    at = [entry["step"] for entry in validations]
    score = [entry["scores"].get(watched, np.nan) for entry in validations]
    right = plain(axes.twinx())
    right.plot(at, score, color=ORANGE, linewidth=1.4, marker="o", markersize=3.5)
    right.set_ylabel(printable(watched), color=ORANGE, fontsize=9, parse_math=False)
    right.margins(y=0.18)
    best = max((index for index, entry in enumerate(validations) if entry.get("improved")), default=None)
    if best is None:
        return
    right.axvline(at[best], color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    right.plot(at[best], score[best], color=ORANGE, marker="o", markersize=8, markerfacecolor="white", zorder=4)
    early = at[best] <= (at[0] + at[-1]) / 2
    right.annotate(
        f"kept {score[best]:.3f}",
        (at[best], score[best]),
        xytext=(7 if early else -7, 7),
        textcoords="offset points",
        ha="left" if early else "right",
        fontsize=8,
        color=INK,
    )


def running_mean(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The mean of the last `width` values at each place, of fewer at the start."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - width, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
