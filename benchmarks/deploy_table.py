"""The figures of `deploy.py`: ratios to the reference within a round, and the two tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
from contest import scores
from deploy_models import REFERENCE, TORCH, Contestant, Rows

Cell: TypeAlias = dict[str, Any]

RATIOS = ("speed_ratio", "one_text_ratio", "start_ratio", "memory_ratio", "size_ratio")
FIGURES = (
    *("texts_per_cpu_second", "texts_per_second", "p50_cpu_ms", "p99_cpu_ms", "p50_ms", "p99_ms"),
    *("start_cpu_seconds", "start_seconds", "peak_mb", "size_mb", "accuracy", "equal_answers"),
)
COLUMNS = ("contestant", "status", *RATIOS, *FIGURES)
DONE, NOT_RUN = "done", "not run"
INT8 = "int8"
GOALS = (  # of int8 exports: figure, text, and whether a value meets it
    ("speed_ratio", "at least 4 times the texts per second of the reference", lambda value: value >= 4),
    ("p50_cpu_ms", "at most 3 ms for one short text", lambda value: value <= 3),
    ("start_seconds", "first answer within 1 s", lambda value: value <= 1),
)


@dataclass
class Times:
    """Seconds of one measurement, one entry per round."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, cpu: float, wall: float) -> None:
        """Add a round."""
        self.cpu.append(cpu)
        self.wall.append(wall)


@dataclass
class Measured:
    """What was measured of one contestant."""

    labels: list[str] = field(default_factory=list)  # of the test rows
    many: Times = field(default_factory=Times)
    singles: list[Times] = field(default_factory=list)  # one per round, one entry per text
    start: Times = field(default_factory=Times)
    peak_mb: float = 0.0
    imports_torch: bool = False


def cells_of(
    contestants: Sequence[Contestant],
    measured: Mapping[str, Measured],
    problems: Mapping[str, str],
    test: Rows,
    texts: int,
) -> list[Cell]:
    """One line per contestant; one that was not run has only the reason."""
    base = next(one for one in contestants if one.name == REFERENCE)
    reference = measured[REFERENCE], base.size
    run = measured[TORCH].labels if TORCH in measured else None
    cells = []
    for one in contestants:
        if one.name in problems:
            empty = dict.fromkeys((*RATIOS, *FIGURES), "")
            cells.append({"contestant": one.name, "status": f"{NOT_RUN}: {problems[one.name]}", **empty})
            continue
        own = measured[one.name]
        equal = "" if run is None or not one.same_model else share_equal(run, own.labels)
        figures = figures_of(own, one.size, texts, scores(test.labels, own.labels)["accuracy"], equal)
        cells.append({"contestant": one.name, "status": DONE, **ratios_of(reference, (own, one.size)), **figures})
    return cells


def ratios_of(reference: tuple[Measured, int], own: tuple[Measured, int]) -> Cell:
    """The reference's figure divided by the contestant's: above 1 the contestant needs less."""
    (base, base_size), (one, size) = reference, own
    return {
        "speed_ratio": round(paired(base.many.cpu, one.many.cpu), 3),
        "one_text_ratio": round(paired(*([median(each.cpu) for each in them.singles] for them in (base, one))), 3),
        "start_ratio": round(paired(base.start.cpu, one.start.cpu), 3),
        "memory_ratio": round(base.peak_mb / one.peak_mb, 3),
        "size_ratio": round(base_size / size, 3),
    }


def figures_of(own: Measured, size: int, texts: int, accuracy: float, equal: float | str) -> Cell:
    """The contestant's own figures."""
    cpu, wall = ([1000 * value for each in own.singles for value in getattr(each, name)] for name in ("cpu", "wall"))
    return {
        "texts_per_cpu_second": round(texts / median(own.many.cpu), 1),
        "texts_per_second": round(texts / median(own.many.wall), 1),
        "p50_cpu_ms": round(float(np.percentile(cpu, 50)), 2),
        "p99_cpu_ms": round(float(np.percentile(cpu, 99)), 2),
        "p50_ms": round(float(np.percentile(wall, 50)), 2),
        "p99_ms": round(float(np.percentile(wall, 99)), 2),
        "start_cpu_seconds": round(median(own.start.cpu), 2),
        "start_seconds": round(median(own.start.wall), 2),
        "peak_mb": round(own.peak_mb),
        "size_mb": round(size / 1e6, 1),
        "accuracy": accuracy,
        "equal_answers": equal,
    }


def paired(base: Sequence[float], own: Sequence[float]) -> float:
    """The median over rounds of the ratio within a round, because a shared machine changes its speed."""
    return median(one / other for one, other in zip(base, own, strict=True))


def share_equal(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of equal answers."""
    return round(sum(a == b for a, b in zip(one, other, strict=True)) / len(one), 5)


def least_share(measured: Mapping[str, Measured]) -> float:
    """The smallest CPU share of a measurement of all texts; well below 1, other processes used the core."""
    return min(
        cpu / wall for own in measured.values() for cpu, wall in zip(own.many.cpu, own.many.wall, strict=True) if wall
    )


def markdown(cells: Sequence[Cell], *, command: str, description: str) -> str:
    """Ratios first, then the figures they come from."""
    lines = ["# Deployment", "", f"`{command}`", "", description, "", *ratio_lines(cells), "", *figure_lines(cells)]
    return "\n".join([*lines, "", *goal_lines(cells)]) + "\n"


def ratio_lines(cells: Sequence[Cell]) -> list[str]:
    """The table of ratios."""
    lines = [
        f"Times better than `{REFERENCE}`:",
        "",
        "| contestant | texts per second | one text, p50 | start-up | peak memory | on disk | accuracy | as torch |",
        "|-|-:|-:|-:|-:|-:|-:|-:|",
    ]
    for cell in cells:
        if cell["status"] != DONE:
            lines.append(f"| {cell['contestant']} | {cell['status']} | | | | | | |")
            continue
        ratios = " | ".join(f"{cell[name]:.2f}" for name in RATIOS)
        equal = f"{100 * cell['equal_answers']:.1f} %" if cell["equal_answers"] != "" else "-"
        lines.append(f"| {cell['contestant']} | {ratios} | {100 * cell['accuracy']:.1f} % | {equal} |")
    return lines


def figure_lines(cells: Sequence[Cell]) -> list[str]:
    """The table of figures; wall-clock time in brackets."""
    lines = [
        "CPU time, in brackets wall-clock time:",
        "",
        "| contestant | texts per second | one text: p50, ms | p99, ms | start-up, s | peak, MB | on disk, MB |",
        "|-|-:|-:|-:|-:|-:|-:|",
    ]
    for cell in cells:
        if cell["status"] != DONE:
            lines.append(f"| {cell['contestant']} | {NOT_RUN} | | | | | |")
            continue
        lines.append(
            f"| {cell['contestant']} | {cell['texts_per_cpu_second']:,.0f} ({cell['texts_per_second']:,.0f}) | "
            f"{cell['p50_cpu_ms']:.2f} ({cell['p50_ms']:.2f}) | {cell['p99_cpu_ms']:.2f} ({cell['p99_ms']:.2f}) | "
            f"{cell['start_cpu_seconds']:.2f} ({cell['start_seconds']:.2f}) | {cell['peak_mb']:,} | "
            f"{cell['size_mb']:,.1f} |"
        )
    return lines


def goal_lines(cells: Sequence[Cell]) -> list[str]:
    """Which goals the int8 exports meet."""
    exports = [cell for cell in cells if INT8 in cell["contestant"] and cell["status"] == DONE]
    lines = []
    for figure, goal, met in GOALS:
        verdicts = []
        for cell in exports:
            verdict = "met" if met(cell[figure]) else "**missed**"
            verdicts.append(f"{cell['contestant'].removeprefix('phasefit, ')} {cell[figure]:.2f} ({verdict})")
        lines.append(f"- Goal: {goal}: {', '.join(verdicts) or NOT_RUN}.")
    return lines


def write(folder: Path, cells: Sequence[Cell], text: str) -> None:
    """Write the cells and the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "deploy.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    (folder / "deploy.md").write_text(text, encoding="utf-8")
