"""Losses and watched scores of all phases over steps, in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.metrics.registry import metric_at
from phasefit.report.facts.curves import Entries, PhaseCurve, phase_curves, score_ranges
from phasefit.report.pictures.canvas import BAND, BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save
from phasefit.report.pictures.fonts import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ranges = Mapping[str, tuple[float, float]]

ABREAST = 6  # most phases in one row of panels
MANY = 600  # with more steps, raw losses are drawn as the range of a few steps each
WIDTHS = {1: 8.0, 2: 10.0, 3: 12.0, 4: 13.5, 5: 15.0, 6: 16.5}  # inches, by the number of phases in a row


def history_figure(history: Entries, path: Path) -> None:
    """Draw `history.json`: one band per phase, with losses above and the watched score of each evaluation below."""
    phases = phase_curves(history)
    save(path, lambda names: draw(phases, names), [printable(phase.name, 30) for phase in phases], word="phase")


def draw(phases: Sequence[PhaseCurve], names: Sequence[str]) -> Figure:
    """Return the phases from left to right; each has its own loss axis, because their losses are not comparable."""
    steps = [phase.steps for phase in phases]
    starts = np.concatenate([[0], np.cumsum(steps)]).astype(int)
    ranges = score_ranges(phases)
    lines = max(-(-len(phases) // ABREAST), 1)
    abreast = max(-(-len(phases) // lines), 1)
    figure = blank(WIDTHS[abreast], 5.0 * lines)
    outer = figure.add_gridspec(lines, 1)
    for line in range(lines):
        shown = range(line * abreast, min((line + 1) * abreast, len(phases)))
        widths = band_widths([steps[place] for place in shown]) or [1.0]
        grid = outer[line].subgridspec(2, len(widths), width_ratios=widths, height_ratios=[1.25, 1])
        for column, place in enumerate(shown):
            above, below = (plain(figure.add_subplot(grid[row, column])) for row in (0, 1))
            band(above, below, int(starts[place]), steps[place], 6 if widths[column] > 0.25 else 3)
            if place % 2 == 0:
                above.set_facecolor(BAND)
                below.set_facecolor(BAND)
            above.set_title(names[place], loc="left", color=INK, fontsize=11)
            draw_loss(above, phases[place], int(starts[place]))
            draw_score(below, above, phases[place], int(starts[place]), ranges)
            if column == 0:
                above.set_ylabel("loss", color=BLUE, fontsize=9)
    axis = "step" if len(phases) < 2 else "step, counted across all phases"
    figure.supxlabel(axis, color=INK, fontsize=9)
    return figure


def band_widths(steps: Sequence[int]) -> list[float]:
    """Return the width of each phase: proportional to its steps, but at least 65 % of an equal share."""
    share = np.asarray(steps, dtype=np.float64) / max(sum(steps), 1)
    return list(np.maximum(share, 0.65 / max(len(steps), 1)))


def band(above: Axes, below: Axes, start: int, steps: int, ticks: int) -> None:
    """Set what both panels of a phase share: the range of steps and the grid."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    for axes in (above, below):
        axes.grid(color=GRID, linewidth=0.8)
        axes.set_xlim(start - 0.02 * max(steps, 1), start + 1.02 * max(steps, 1))
        axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True, min_n_ticks=1))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    above.tick_params(labelbottom=False)


def draw_loss(axes: Axes, phase: PhaseCurve, start: int) -> None:
    """Draw the loss of each step faintly and its running mean clearly."""
    if not len(phase.losses):
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no loss", transform=axes.transAxes, ha="center", color=FAINT, fontsize=9)
        return
    at, loss, smooth = phase.loss_steps + start, phase.losses, phase.smooth
    if len(at) > MANY:
        chunks = np.array_split(np.arange(len(at)), MANY // 2)
        middle = [at[chunk].mean() for chunk in chunks]
        low, high = [loss[chunk].min() for chunk in chunks], [loss[chunk].max() for chunk in chunks]
        axes.fill_between(middle, low, high, color=BLUE, alpha=0.2, linewidth=0)
    else:
        axes.plot(at, loss, color=BLUE, alpha=0.3, linewidth=0.8, marker="o" if len(at) <= 30 else None, markersize=3)
    thin = np.unique(np.linspace(0, len(at) - 1, MANY).astype(int))
    axes.plot(at[thin], smooth[thin], color=BLUE, linewidth=1.8)
    if phase.non_finite:
        note = f"{phase.non_finite:,} not finite"
        axes.text(0.98, 0.95, note, transform=axes.transAxes, ha="right", va="top", fontsize=8)


def draw_score(axes: Axes, above: Axes, phase: PhaseCurve, start: int, ranges: Ranges) -> None:
    """Draw the watched score of each evaluation, and mark the step whose weights were kept in both panels."""
    if not phase.scores:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "not validated", transform=axes.transAxes, ha="center", color=FAINT, fontsize=9)
        return
    watched, best = phase.watched, phase.kept
    at, score = phase.validated + start, phase.scores[watched]
    few = len(at) <= 60
    axes.plot(at, score, color=ORANGE, linewidth=1.5, marker="o" if few else None, markersize=3.5, zorder=3)
    if watched in ranges:
        axes.set_ylim(*ranges[watched])
    title = printable(metric_at(watched).title)
    if best is not None:
        title += f"\nkept {score[best]:.3f} {phase.when_kept}"
        for panel in (axes, above):
            panel.axvline(at[best], color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
        ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "white", "markeredgewidth": 2}
        axes.plot(at[best], score[best], color=ORANGE, zorder=4, clip_on=False, **ring)
    axes.set_title(title, loc="left", color=ORANGE, fontsize=8.5)
