"""The gain of one variant over another against the number of rows: as lines, CSV, PNG and SVG."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.named.cards import find_card
from phasefit.files.atomic import write_text
from phasefit.studies.cell import Cell
from phasefit.studies.result import Result
from phasefit.studies.statistics import estimate
from phasefit.studies.study import Data, Study
from phasefit.studies.study_file import FigurePart
from phasefit.studies.tables import Row, Table, fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HUNDRED = 100.0  # gains are in percentage points
PUBLISHED = "published"
STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Gain:
    """The difference on one dataset, in points; `published` is that of the paper, with `published_rows` rows."""

    dataset: str
    rows: int
    gain: float
    low: float | None
    high: float | None
    published: float | None
    published_rows: int | None
    source: str = ""  # the table that its rows are taken from; several sizes of it are one line


def compared(figure: FigurePart, study: Study, cells: Sequence[Cell], results: Mapping[str, Result]) -> list[Table]:
    """The tables of a figure, reduced to its two variants and their difference."""
    wanted = {*map(str, figure.tables)}
    specs = [spec for spec in study.tables if not wanted or spec.number in wanted]
    both = (figure.against, figure.variant)
    return [fill(study, replace(spec, variants=both, against=figure.against), cells, results) for spec in specs]


def rows_of(cells: Sequence[Cell], results: Mapping[str, Result]) -> dict[str, int]:
    """Number of rows per dataset, summed over the splits of a run; for tables without a card."""
    counted: dict[str, int] = {}
    for cell in cells:
        rows = results[cell.key].rows if cell.key in results else {}
        counts = [count for name, count in rows.items() if isinstance(count, int) and name != "unlabelled"]
        if counts:
            counted.setdefault(cell.dataset, sum(counts))
    return counted


def training_rows(data: Data, data_dir: Path | None = None) -> int | None:
    """Number of training rows of a dataset, after any limit; None if neither its card nor the study states it."""
    card = find_card(str(data.options["data"]))
    available = None if card is None else card.rows.get("train")
    limit = data.options.get("rows")
    known = [int(number) for number in (available, limit) if number is not None]
    return min(known, default=None)


def gains(
    figure: FigurePart,
    tables: Sequence[Table],
    rows: Mapping[str, int | None],
    paper_rows: Mapping[str, int | None],
    sources: Mapping[str, str] | None = None,
) -> list[Gain]:
    """The gain on each dataset of the `compared` tables; a dataset in two tables counts once."""
    wanted = {*map(str, figure.tables)}
    by_dataset: dict[str, Gain] = {}
    for table in tables:
        if wanted and table.number not in wanted:
            continue
        by_place = {(row.dataset, row.variant): row for row in table.rows}
        for dataset in dict.fromkeys(row.dataset for row in table.rows):
            better, base = (by_place.get((dataset, name)) for name in (figure.variant, figure.against))
            number = rows.get(dataset)
            if better is None or base is None or number is None or dataset in by_dataset:
                continue
            gain = _gain(table.label(dataset), better, base, number, paper_rows.get(dataset))
            by_dataset[dataset] = replace(gain, source=(sources or {}).get(dataset, dataset))
    return sorted(by_dataset.values(), key=lambda one: (one.rows, one.dataset))


def _gain(dataset: str, better: Row, base: Row, rows: int, paper_rows: int | None) -> Gain:
    published = None
    if better.published is not None and base.published is not None:
        published = round(HUNDRED * (better.published - base.published), 6)
    return Gain(
        dataset,
        rows,
        HUNDRED * (better.mean - base.mean if better.difference is None else better.difference),
        None if better.difference_low is None else HUNDRED * better.difference_low,
        None if better.difference_high is None else HUNDRED * better.difference_high,
        published,
        paper_rows if published is not None else None,
    )


def curve(figure: FigurePart, datasets: Sequence[Gain]) -> dict[str, Any]:
    """Our lines and the published one, which is the mean over the datasets with the same number of rows.

    Ours is such a mean too, unless every dataset is there in several sizes: then each has its own line, because means
    over sizes with different datasets cannot be compared.
    """
    by_source: dict[str, list[Gain]] = {}
    for one in datasets:
        by_source.setdefault(one.source, []).append(one)
    apart = all(len({one.rows for one in group}) > 1 for group in by_source.values())
    groups = by_source if apart else {"ours": list(datasets)}
    lines = [{"name": name, "points": _our_line(group)} for name, group in groups.items()]
    theirs = _line([(one.published_rows, one.published) for one in datasets])
    lines += [{"name": PUBLISHED, "points": theirs}] if theirs else []
    return {
        "title": figure.title,
        "x_title": "rows of the training table",
        "y_title": f"gain of {figure.variant} in points",
        "lines": lines,
    }


def _our_line(datasets: Sequence[Gain]) -> list[list[Any]]:
    return _line([(one.rows, one.gain) for one in datasets], {one.rows: (one.low, one.high) for one in datasets})


def _line(pairs: Sequence[tuple[Any, Any]], alone: Mapping[int, tuple[Any, Any]] | None = None) -> list[list[Any]]:
    """Points with intervals: over datasets if several have the same number of rows, else that of the one dataset."""
    by_rows: dict[int, list[float]] = {}
    for rows, gain in pairs:
        if rows is not None and gain is not None:
            by_rows.setdefault(int(rows), []).append(float(gain))
    points = []
    for rows, values in sorted(by_rows.items()):
        known = estimate(values)
        low, high = (known.low, known.high) if len(values) > 1 else (alone or {}).get(rows, (None, None))
        points.append([rows, known.mean, low, high])
    return points


def write_gains(folder: Path, figure: FigurePart, points: Sequence[Gain], name: str = "gain") -> list[Path]:
    """Write `gain.csv`, `gain.png` and `gain.svg`."""
    from phasefit.report.pictures.canvas import save

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(Gain.__dataclass_fields__)
    writer.writerow(names)
    for one in points:
        writer.writerow(["" if getattr(one, key) is None else getattr(one, key) for key in names])
    write_text(folder / f"{name}.csv", out.getvalue())
    save(folder / f"{name}.png", lambda _: draw(figure, points))
    return [folder / f"{name}{suffix}" for suffix in (".csv", ".png", ".svg")]


def draw(figure: FigurePart, datasets: Sequence[Gain]) -> Figure:
    """One dot per dataset with its interval, lines as in `curve`; published results are hollow."""
    from phasefit.report.pictures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain

    canvas = blank(8.0, 4.5)
    axes = plain(canvas.add_subplot())
    axes.grid(color=GRID, linewidth=0.8)
    axes.axhline(0, color=FAINT, linewidth=1)
    axes.set_xscale("log")
    for one in datasets:
        if one.low is not None and one.high is not None:
            axes.plot([one.rows, one.rows], [one.low, one.high], color=BLUE, alpha=0.35, linewidth=1.5)
        axes.plot(one.rows, one.gain, "o", color=BLUE, markersize=5)
        axes.annotate(one.dataset, (one.rows, one.gain), (5, 3), textcoords="offset points", fontsize=7, color=INK)
        if one.published is not None and one.published_rows is not None:
            axes.plot(one.published_rows, one.published, "o", markerfacecolor="white", color=ORANGE, markersize=5)
    for line, style in zip(curve(figure, datasets)["lines"], cycle(STYLES), strict=False):
        points = np.array([point[:2] for point in line["points"]], dtype=np.float64)
        look: dict[str, Any] = {"color": ORANGE} if line["name"] == PUBLISHED else {"color": BLUE, "linestyle": style}
        axes.plot(points[:, 0], points[:, 1], linewidth=1.8, label=line["name"], **look)
    _count_rows(axes)
    axes.set_xlabel("rows of the training table", color=INK, fontsize=9)
    axes.set_ylabel(f"accuracy of {figure.variant} minus {figure.against}, points", color=INK, fontsize=9)
    axes.set_title(figure.title, loc="left", color=INK, fontsize=11)
    axes.legend(frameon=False, fontsize=8)
    return canvas


def _count_rows(axes: Axes) -> None:
    """Label the axis with round numbers written out: powers of ten would need superscripts."""
    from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

    low, high = axes.get_xlim()
    ticks = [step * 10**power for power in range(1, 8) for step in (1, 2, 5)]
    axes.xaxis.set_major_locator(FixedLocator([number for number in ticks if low <= number <= high]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.set_xlim(low, high)
