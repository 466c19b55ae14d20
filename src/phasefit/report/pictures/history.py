"""How training went: losses and watched scores of all phases against steps, in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.registry import metric_at
from phasefit.report.pictures.canvas import BAND, BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save
from phasefit.report.pictures.fonts import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Entries = Sequence[Mapping[str, Any]]
Floats = NDArray[np.float64]
Ranges = Mapping[str, tuple[float, float]]

ABREAST = 6  # phases in one row of panels
MANY = 600  # steps beyond which the raw losses are drawn as the span of each few
WIDTHS = {1: 8.0, 2: 10.0, 3: 12.0, 4: 13.5, 5: 15.0, 6: 16.5}  # inches, by the phases abreast


def history_figure(history: Entries, path: Path) -> None:
    """Draw `history.json`: a band a phase, the loss of each step above, the watched score of each validation below."""
    phases = list(dict.fromkeys(str(entry["phase"]) for entry in history))
    save(path, lambda names: draw(history, phases, names), [printable(phase, 30) for phase in phases], word="phase")


def draw(history: Entries, phases: Sequence[str], names: Sequence[str]) -> Figure:
    """Phases left to right on one axis of steps, each loss on a scale of its own: losses of phases do not compare."""
    entries = [[entry for entry in history if str(entry["phase"]) == phase] for phase in phases]
    steps = [max((entry["step"] for entry in each), default=0) for each in entries]
    starts = np.concatenate([[0], np.cumsum(steps)]).astype(int)
    ranges = score_ranges(entries)
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
            draw_loss(above, entries[place], int(starts[place]))
            draw_score(below, above, entries[place], int(starts[place]), ranges)
            if column == 0:
                above.set_ylabel("loss", color=BLUE, fontsize=9)
    axis = "step" if len(phases) < 2 else "steps, counted through all phases"
    figure.supxlabel(axis, color=INK, fontsize=9)
    return figure


def band_widths(steps: Sequence[int]) -> list[float]:
    """How wide each phase is drawn: by its steps, but never much under an equal share, so that it can be read."""
    share = np.asarray(steps, dtype=np.float64) / max(sum(steps), 1)
    return list(np.maximum(share, 0.65 / max(len(steps), 1)))


def band(above: Axes, below: Axes, start: int, steps: int, ticks: int) -> None:
    """What both panels of a phase share: the steps they span and the lines behind them."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    for axes in (above, below):
        axes.grid(color=GRID, linewidth=0.8)
        axes.set_xlim(start - 0.02 * max(steps, 1), start + 1.02 * max(steps, 1))
        axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True, min_n_ticks=1))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    above.tick_params(labelbottom=False)


def draw_loss(axes: Axes, entries: Entries, start: int) -> None:
    """Every step's loss faintly, its running mean clearly."""
    found = [(entry["step"] + start, entry["loss"]) for entry in entries if entry.get("loss") is not None]
    known = [pair for pair in found if np.isfinite(pair[1])]
    if not known:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no loss", transform=axes.transAxes, ha="center", color=FAINT, fontsize=9)
        return
    at, loss = (np.array(column, dtype=np.float64) for column in zip(*known, strict=True))
    if len(at) > MANY:
        chunks = np.array_split(np.arange(len(at)), MANY // 2)
        middle = [at[chunk].mean() for chunk in chunks]
        low, high = [loss[chunk].min() for chunk in chunks], [loss[chunk].max() for chunk in chunks]
        axes.fill_between(middle, low, high, color=BLUE, alpha=0.2, linewidth=0)
    else:
        axes.plot(at, loss, color=BLUE, alpha=0.3, linewidth=0.8, marker="o" if len(at) <= 30 else None, markersize=3)
    smooth = running_mean(loss, max(1, len(loss) // 20))
    thin = np.unique(np.linspace(0, len(at) - 1, MANY).astype(int))
    axes.plot(at[thin], smooth[thin], color=BLUE, linewidth=1.8)
    lost = len(found) - len(known)
    if lost:
        axes.text(0.98, 0.95, f"{lost:,} not a number", transform=axes.transAxes, ha="right", va="top", fontsize=8)


def draw_score(axes: Axes, above: Axes, entries: Entries, start: int, ranges: Ranges) -> None:
    """The watched score of each validation; the step whose weights were kept is marked in both panels."""
    validations = [entry for entry in entries if entry.get("scores")]
    if not validations:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "not validated", transform=axes.transAxes, ha="center", color=FAINT, fontsize=9)
        return
    watched = watched_score(validations)
    at = [entry["step"] + start for entry in validations]
    score = [entry["scores"].get(watched, np.nan) for entry in validations]
    few = len(at) <= 60
    axes.plot(at, score, color=ORANGE, linewidth=1.5, marker="o" if few else None, markersize=3.5, zorder=3)
    if watched in ranges:
        axes.set_ylim(*ranges[watched])
    title = printable(metric_at(watched).title)
    best = max((place for place, entry in enumerate(validations) if entry.get("improved")), default=None)
    if best is not None:
        step = validations[best]["step"]
        title += f"\nkept {score[best]:.3f} " + (f"after {counted(step)}" if step else "from its start")
        for panel in (axes, above):
            panel.axvline(at[best], color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
        ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "white", "markeredgewidth": 2}
        axes.plot(at[best], score[best], color=ORANGE, zorder=4, clip_on=False, **ring)
    axes.set_title(title, loc="left", color=ORANGE, fontsize=8.5)


def counted(steps: int) -> str:
    """1 step, 2 steps."""
    return f"{steps:,} step{'' if steps == 1 else 's'}"


def watched_score(validations: Entries) -> str:
    """The score that decided; where it is not recorded, the first."""
    return str(validations[-1].get("watch") or next(iter(validations[-1]["scores"])))


def score_ranges(entries: Sequence[Entries]) -> dict[str, tuple[float, float]]:
    """One range for each watched score, so that phases that watch the same one compare by height."""
    seen: dict[str, list[float]] = {}
    for phase in entries:
        validations = [entry for entry in phase if entry.get("scores")]
        if validations:
            watched = watched_score(validations)
            values = [entry["scores"].get(watched, np.nan) for entry in validations]
            seen.setdefault(watched, []).extend(value for value in values if np.isfinite(value))
    ranges = {}
    for watched, values in seen.items():
        if values:
            margin = max(0.12 * (max(values) - min(values)), 0.01 * abs(max(values)), 1e-3)
            ranges[watched] = (min(values) - margin, max(values) + margin)
    return ranges


def running_mean(values: Floats, width: int) -> Floats:
    """The mean of the last `width` values at each place, of fewer at the start."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - width, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
