"""The pictures of the league: accuracy against CPU seconds, and ranks; one panel per regime that has ranked results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

from league_scores import Scoreboard, by_set, cpu
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from plots import COLOURS, FAINT, INK, MARKERS, OTHERS, heading, save, tidy, unique

PANEL = (5.6, 4.4)  # inches
COLUMNS = 2
DEEPEST = 12.0  # points below the best; contestants further below are drawn at the lower edge


def accuracy_against_cpu(board: Scoreboard, path: Path) -> None:
    """The mean accuracy against CPU seconds on the draws that all ranked contestants have; a line per family."""
    _panels(board, path, _curves, "Accuracy against CPU seconds")


def rank_plot(board: Scoreboard, path: Path) -> None:
    """The mean rank of each contestant, and its rank on each set as a small dot."""
    _panels(board, path, _ranks, "Ranks by accuracy")


def _panels(board: Scoreboard, path: Path, draw: Callable[[Scoreboard, str, Axes], None], title: str) -> None:
    regimes = [regime for regime in board.regimes if board.common(regime)]
    columns = min(COLUMNS, max(len(regimes), 1))
    lines = max(-(-len(regimes) // columns), 1)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * lines), layout="constrained", facecolor="white")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, regime in zip(panels, regimes, strict=False):
        draw(board, regime, tidy(axes))
    for axes in panels[len(regimes) :]:
        axes.set_axis_off()
    if not regimes:
        panels[0].text(0.5, 0.5, "no results to compare yet", ha="center", color=FAINT)
    figure.suptitle(title, x=0.01, ha="left", color=INK, fontsize=12)
    save(figure, path)


def _curves(board: Scoreboard, regime: str, axes: Axes) -> None:
    points = {}
    for name, own in board.common(regime).items():
        accuracy = mean(mean(one.accuracy for one in group) for group in by_set(own).values())
        points[name] = (geometric_mean(map(cpu, own)), 100 * accuracy)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(min(x for x, _ in points.values()) / 2, max(x for x, _ in points.values()) * 5)  # room for names
    heights = [y for _, y in points.values() if y >= max(y for _, y in points.values()) - DEEPEST]
    floor = min(heights) - 0.2 * (max(heights) - min(heights)) - 1
    axes.set_ylim(floor, max(heights) + 0.1 * (max(heights) - min(heights)) + 1)
    shown = {name: (x, max(y, floor + 0.04 * (max(heights) - floor))) for name, (x, y) in points.items()}
    looks = _looks(board)
    families = {cell.contestant.name: cell.contestant.family for cell in board.cells}
    for family in unique(families[name] for name in points):
        names = sorted((name for name in points if families[name] == family), key=lambda name: points[name])
        colour, marker = looks[names[0]]
        width = 2.4 if family == "phasefit" else 1.4
        line = zip(*(shown[name] for name in names), strict=True)
        axes.plot(*line, color=colour, marker=marker, markersize=7, linewidth=width, zorder=3)
    titles = {name: name if y >= floor else f"{name}: {y:.1f}, below" for name, (_, y) in points.items()}
    _name_points(axes, shown, titles, {name: looks[name][0] for name in points})
    axes.set_xlabel("CPU seconds of training, one thread (log scale)", color=INK, fontsize=9)
    axes.set_ylabel("mean accuracy, per cent", color=INK, fontsize=9)
    heading(axes, f"{regime}: {_shared(board, regime)}")


def _name_points(
    axes: Axes, points: Mapping[str, tuple[float, float]], titles: Mapping[str, str], colours: Mapping[str, str]
) -> None:
    """Write a name next to each point, at the first place around it that is still free."""
    places = {name: axes.transData.transform(point) for name, point in points.items()}
    taken = [(x - 6.0, y - 6.0, x + 6.0, y + 6.0) for x, y in places.values()]
    for name, (x, y) in places.items():
        width, height = 5.5 * len(titles[name]) + 4, 12.0  # pixels, at this size of the font
        boxes = [(x + dx, y + dy, x + dx + width, y + dy + height) for dx, dy in ((8, 4), (8, -16), (8, 16), (8, -28))]
        boxes += [(x - 8 - width, y + dy, x - 8, y + dy + height) for dy in (4, -16, 16, -28)]
        box = next((one for one in boxes if not any(_overlap(one, other) for other in taken)), boxes[0])
        taken.append(box)
        note: dict[str, Any] = {"textcoords": "offset pixels", "xytext": (box[0] - x, box[1] - y), "fontsize": 8}
        text = axes.annotate(titles[name], points[name], color=colours[name], zorder=5, **note)
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])  # readable on top of a line


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _ranks(board: Scoreboard, regime: str, axes: Axes) -> None:
    placed, looks = board.set_ranks(regime), _looks(board)
    names = sorted(placed, key=lambda name: -mean(placed[name]))  # the best on top
    for height, name in enumerate(names):
        colour, marker = looks[name]
        axes.scatter(placed[name], [height] * len(placed[name]), s=14, color=colour, alpha=0.35, linewidths=0, zorder=3)
        axes.plot(mean(placed[name]), height, marker, color=colour, markersize=9, zorder=4)
        note: dict[str, Any] = {
            "textcoords": "offset points",
            "xytext": (0, 8),
            "ha": "center",
            "fontsize": 8,
            "color": colour,
        }
        axes.annotate(f"{mean(placed[name]):.1f}", (mean(placed[name]), height), **note)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.2)
    axes.set_xlim(0.6, len(names) + 0.4)
    axes.set_xticks(range(1, len(names) + 1))
    axes.set_xlabel("rank (1 is best); small dots: sets", color=INK, fontsize=9)
    heading(axes, f"{regime}: {_shared(board, regime)}")


def _shared(board: Scoreboard, regime: str) -> str:
    """How many sets and draws all ranked contestants have."""
    own = next(iter(board.common(regime).values()))
    draws = len({one.cell.block for one in own})
    return f"{len(by_set(own))} sets, {draws} draws in all"


def _looks(board: Scoreboard) -> dict[str, tuple[str, str]]:
    """Colour and marker of each contestant; a family shares them."""
    families = unique(cell.contestant.family for cell in board.cells)
    return {
        cell.contestant.name: (
            COLOURS.get(cell.contestant.script.replace("_", "-"), OTHERS),
            MARKERS[families.index(cell.contestant.family) % len(MARKERS)],
        )
        for cell in board.cells
    }
