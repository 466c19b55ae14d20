"""The Markdown summary of a study: means, spreads, and paired differences with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any, TypeAlias

from scipy.stats import t

Cell: TypeAlias = dict[str, Any]

COLUMNS = ["recipe", "accuracy", "difference", "macro F1", "difference", "validation macro F1", "seconds"]


def summary(rows: Sequence[Cell], variants: Sequence[str], *, title: str, command: str) -> str:
    """One line per variant ("recipe" or "recipe:settings"); differences are relative to the first."""
    groups = [sorted((row for row in rows if name_of(row) == v), key=lambda row: int(row["seed"])) for v in variants]
    lines = [
        f"# {title}",
        "",
        f"`{command}`",
        "",
        f"{len(groups[0])} seeds, one split; test accuracy and macro F1 in per cent, mean ± standard deviation.",
        "Difference: to the first line, paired over seeds, with its 95 % interval.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|" + "-|" * len(COLUMNS),
    ]
    for variant, cells in zip(variants, groups, strict=True):
        figures = [f"{spread(cells, score)} | {gain(cells, groups[0], score)}" for score in ("accuracy", "macro_f1")]
        seconds = mean(float(cell["seconds"]) for cell in cells)
        lines.append(f"| {variant} | {' | '.join(figures)} | {spread(cells, 'val_macro_f1')} | {seconds:.0f} |")
    return "\n".join(lines) + "\n"


def name_of(row: Cell) -> str:
    """The variant of a cell, as on the command line."""
    return f"{row['recipe']}:{row['settings']}".rstrip(":")


def spread(cells: Sequence[Cell], score: str) -> str:
    """Mean and standard deviation in per cent."""
    values = [100 * float(cell[score]) for cell in cells]
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def gain(cells: Sequence[Cell], base: Sequence[Cell], score: str) -> str:
    """Mean difference to the reference, paired by seed, with its interval."""
    if cells is base:
        return ""
    values = [100 * (float(cell[score]) - float(other[score])) for cell, other in zip(cells, base, strict=True)]
    if len(values) < 2:
        return f"{values[0]:+.2f}"
    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return f"{mean(values):+.2f} [{mean(values) - half:+.2f}, {mean(values) + half:+.2f}]"
