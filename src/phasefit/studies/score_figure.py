"""The scores of a table as a figure, by dataset and variant: as CSV, PNG and SVG, and for the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.files.atomic import write_text
from phasefit.studies.cell import Cell
from phasefit.studies.formats import metric_name
from phasefit.studies.result import Result
from phasefit.studies.study import Study
from phasefit.studies.study_file import FigurePart
from phasefit.studies.tables import Row, Table, fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("dataset", "variant", "n", "mean", "low", "high", "published")
GROUP = 0.7  # width of the marks of a dataset, as a share of the distance between datasets


def drawn_table(figure: FigurePart, study: Study, cells: Sequence[Cell], results: Mapping[str, Result]) -> Table | None:
    """The table of the figure with its variants; None without a result."""
    number = str(figure.tables[0])
    spec = next((spec for spec in study.tables if spec.number == number), None)
    if spec is None:
        return None
    chosen = spec if not figure.variants else replace(spec, variants=tuple(figure.variants))
    table = fill(study, chosen, cells, results)
    return table if table.rows else None


def chart(figure: FigurePart, table: Table) -> dict[str, Any]:
    """The figure for the page."""
    spots = [{**_values(row), "dataset": table.label(row.dataset)} for row in table.rows]
    return {"title": figure.title, "x_title": metric_name(table.metric), "spots": spots}


def _values(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS}


def write_scores(folder: Path, figure: FigurePart, table: Table, name: str = "scores") -> list[Path]:
    """Write `scores.csv`, `scores.png` and `scores.svg`."""
    from phasefit.report.pictures.canvas import save

    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**_values(row), "dataset": table.label(row.dataset)} for row in table.rows)
    write_text(folder / f"{name}.csv", out.getvalue())
    datasets = list(dict.fromkeys(row.dataset for row in table.rows))
    variants = list(dict.fromkeys(row.variant for row in table.rows))
    names = [*map(table.label, datasets), *variants]
    save(folder / f"{name}.png", lambda shown: draw(figure, table, datasets, variants, shown), names, word="name")
    return [folder / f"{name}{suffix}" for suffix in (".csv", ".png", ".svg")]


def draw(
    figure: FigurePart, table: Table, datasets: Sequence[str], variants: Sequence[str], names: Sequence[str]
) -> Figure:
    """A group of marks per dataset, one per variant with its interval; published results are hollow.

    `names` has the names to show, first of the datasets and then of the variants.
    """
    from phasefit.report.pictures.canvas import FAINT, GRID, INK, blank, plain

    canvas = blank(max(6.0, 2.0 + 0.4 * len(datasets) * len(variants)), 4.0)
    axes = plain(canvas.add_subplot())
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    for place, (variant, shown) in enumerate(zip(variants, names[len(datasets) :], strict=True)):
        shift = GROUP * ((place + 0.5) / len(variants) - 0.5)
        at = {dataset: number + shift for number, dataset in enumerate(datasets)}
        _draw_variant(axes, [row for row in table.rows if row.variant == variant], at, place, shown)
    axes.set_xticks(range(len(datasets)), [_wrapped(name) for name in names[: len(datasets)]])
    axes.set_xlim(-0.5, len(datasets) - 0.5)
    hollow = "; hollow marks are published results" if any(row.published is not None for row in table.rows) else ""
    axes.set_xlabel(f"Lines are 95 % intervals over runs{hollow}.", loc="left", color=FAINT, fontsize=7)
    axes.set_ylabel(metric_name(table.metric), color=INK, fontsize=9)
    axes.set_title(figure.title, loc="left", color=INK, fontsize=11)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return canvas


def _draw_variant(axes: Axes, rows: Sequence[Row], at: Mapping[str, float], place: int, label: str) -> None:
    from phasefit.report.pictures.map import COLOURS, MARKERS

    colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
    for row in rows:
        if row.low is not None and row.high is not None:
            axes.plot([at[row.dataset]] * 2, [row.low, row.high], color=colour, alpha=0.6, linewidth=2)
        if row.published is not None:
            axes.plot(at[row.dataset], row.published, marker, markerfacecolor="white", color=colour, markersize=6)
    places = [at[row.dataset] for row in rows]
    axes.plot(places, [row.mean for row in rows], marker, color=colour, markersize=6, label=label)


def _wrapped(name: str) -> str:
    """A name with its number of rows on a second line."""
    return name.replace(", ", "\n", 1)
