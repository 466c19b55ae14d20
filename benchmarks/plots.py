"""Draw the plots of the benchmarks from their CSV files; nothing is run.

    python benchmarks/plots.py

`few_shot-*.csv`: accuracy against seconds of training. `memory.csv`: peak memory against rows. `throughput.csv` (phase,
what, texts_per_second, tokens_per_second): throughput of each phase. Missing files are skipped.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

Line: TypeAlias = dict[str, Any]

INK, FAINT, GRID = "#22313f", "#8795a1", "#e4e8ec"  # as in the pictures of a run
COLOURS = {
    "phasefit": "#1d4ed8",
    "phasefit-three-phase": "#0e7490",
    "phasefit-finetune": "#6366f1",
    "setfit": "#ea580c",
    "fastfit": "#b91c1c",
    "sentence-transformers": "#15803d",
    "sentence-transformers-batch-hard": "#84cc16",
    "transformers": "#a16207",
    "scikit-learn": "#6b7280",
}
OTHERS = "#111827"
MARKERS = "osD^vP*X<>"


def main() -> None:
    """Draw every plot whose CSV file exists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    results = parser.parse_args().results
    for path in sorted(results.glob("few_shot-*.csv")):
        accuracy_against_seconds(read(path), path.with_suffix(".png"))
    for name, draw in (("memory", memory_against_rows), ("throughput", throughput)):
        path = results / f"{name}.csv"
        if path.exists():
            draw(read(path), path.with_suffix(".png"))
        else:
            print(f"{name}: skipped, {path.name} does not exist")


def accuracy_against_seconds(cells: Sequence[Line], path: Path) -> None:
    """One line per contestant over its budgets: means over seeds, bars from the lowest to the highest."""
    cells = [cell for cell in cells if cell["status"] == "done"]
    if not cells:
        print(f"{path.stem}: skipped, no contestant has finished")
        return
    same = ("threads", "test_rows")  # a file may have cells with several values; draw the latest
    cells = [cell for cell in cells if all(cell[name] == cells[-1][name] for name in same)]
    figure, axes = canvas(8.0, 5.0)
    for place, name in enumerate(unique(cell["contestant"] for cell in cells)):
        points = []
        for budget in unique(cell["budget"] for cell in cells if cell["contestant"] == name):
            group = [cell for cell in cells if (cell["contestant"], cell["budget"]) == (name, budget)]
            accuracies = [100 * float(cell["accuracy"]) for cell in group]
            points.append((mean(float(cell["fit_seconds"]) for cell in group), accuracies, budget))
        points.sort(key=lambda point: point[0])
        seconds, means = [point[0] for point in points], [mean(point[1]) for point in points]
        below = [middle - min(point[1]) for middle, point in zip(means, points, strict=True)]
        above = [max(point[1]) - middle for middle, point in zip(means, points, strict=True)]
        axes.errorbar(
            seconds,
            means,
            yerr=(below, above),
            color=COLOURS.get(name, OTHERS),
            marker=MARKERS[place % len(MARKERS)],
            markersize=8 if name == "phasefit" else 6,
            linewidth=2.4 if name == "phasefit" else 1.4,
            elinewidth=1,
            label=name,
            zorder=4 if name == "phasefit" else 3,
        )
        if len(points) > 1:
            for second, middle, (_, _, budget) in zip(seconds, means, points, strict=True):
                note = {"textcoords": "offset points", "xytext": (6, -12), "fontsize": 8}
                axes.annotate(budget, (second, middle), color=COLOURS.get(name, OTHERS), **note)
    first = cells[0]
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(f"seconds of training, {first['threads']} CPU threads (log scale)", color=INK)
    axes.set_ylabel("test accuracy, per cent", color=INK)
    heading(axes, f"{first['data']}, {first['per_class']} rows of each class ({first['rows']} rows)")
    legend(figure, axes)
    save(figure, path)


def memory_against_rows(lines: Sequence[Line], path: Path) -> None:
    """Peak memory by number of rows; a cross marks the memory limit."""
    figure, axes = canvas(8.0, 5.0)
    for place, what in enumerate(unique(line["what"] for line in lines)):
        own = sorted((line for line in lines if line["what"] == what), key=lambda line: int(line["rows"]))
        colour = COLOURS["phasefit" if what.startswith("phasefit") else "setfit"]
        style = "-" if place % 2 == 0 else "--"
        finished = [line for line in own if line["status"] == "done"]
        rows, peaks = ([int(line[name]) for line in finished] for name in ("rows", "peak_mb"))
        axes.plot(rows, peaks, style, marker=MARKERS[place % len(MARKERS)], color=colour, label=what, zorder=3)
        if (over := [line for line in own if line["status"] != "done" and line["peak_mb"]]) and finished:
            worst = min(over, key=lambda line: int(line["rows"]))
            axes.plot(
                [rows[-1], int(worst["rows"])], [peaks[-1], int(worst["peak_mb"])], style, color=colour, linewidth=1
            )
            axes.plot(int(worst["rows"]), int(worst["peak_mb"]), "x", color=colour, markersize=10, markeredgewidth=2)
            note = {"textcoords": "offset points", "xytext": (8, -3), "fontsize": 8, "color": colour}
            axes.annotate(worst["status"], (int(worst["rows"]), int(worst["peak_mb"])), **note)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows of the table (log scale)", color=INK)
    axes.set_ylabel("peak memory, MB", color=INK)
    heading(axes, "Peak memory by number of rows: phasefit reads and trains, SetFit only builds its pairs")
    legend(figure, axes)
    save(figure, path)


def throughput(lines: Sequence[Line], path: Path) -> None:
    """Texts and tokens per second: one group of bars per phase, one bar per contestant."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained", facecolor="white")
    phases, kinds = unique(line["phase"] for line in lines), unique(line["what"] for line in lines)
    width = 0.8 / len(kinds)
    for axes, column in zip(figure.subplots(1, 2), ("texts_per_second", "tokens_per_second"), strict=True):
        tidy(axes)
        for place, kind in enumerate(kinds):
            own = {line["phase"]: float(line[column]) for line in lines if line["what"] == kind and line[column]}
            at = [number + (place - (len(kinds) - 1) / 2) * width for number, name in enumerate(phases) if name in own]
            heights = [own[name] for name in phases if name in own]
            colour = COLOURS.get(kind, list(COLOURS.values())[place % len(COLOURS)])
            bars = axes.bar(at, heights, width * 0.92, color=colour, label=kind, zorder=3)
            axes.bar_label(bars, [f"{height:,.0f}" for height in heights], fontsize=8, color=FAINT, padding=2)
        axes.set_xticks(range(len(phases)), phases)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.grid(visible=False, axis="x")
        heading(axes, column.replace("_per_", " per ").replace("_", " "))
    legend(figure, figure.axes[0])
    save(figure, path)


# --- style ------------------------------------------------------------------------------------------------------------


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A white figure with one pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, tidy(figure.add_subplot())


def tidy(axes: Axes) -> Axes:
    """Add a light grid and remove the box."""
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=FAINT, labelsize=9)
    return axes


def heading(axes: Axes, text: str) -> None:
    """Set the title."""
    axes.set_title(text, loc="left", color=INK, fontsize=11)


def legend(figure: Figure, axes: Axes) -> None:
    """Add the legend below the axes."""
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 4)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def save(figure: Figure, path: Path) -> None:
    """Save the picture reproducibly."""
    figure.savefig(path, dpi=120, metadata={"Software": None})


def unique(names: Iterable[str]) -> list[str]:
    """Distinct names in order of appearance."""
    return list(dict.fromkeys(names))


def read(path: Path) -> list[Line]:
    """The lines of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
