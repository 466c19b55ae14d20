"""Which planned cells of a study have no result, and how long they would take. Imports no torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from phasefit.errors import RunError
from phasefit.studies.cell import Cell
from phasefit.studies.ledger import Ledger
from phasefit.studies.result import Result

MOST_NAMED = 12  # variants on datasets in a sentence


@dataclass(frozen=True)
class Portion:
    """What to run of a study now, and the ledger that collects the results of all portions."""

    ledger: Ledger | None = None
    run: bool = True  # False: tables from existing results only
    part: tuple[int, int] = (1, 1)  # the first of two equal parts is (1, 2)
    minutes: float | None = None  # after which no cell starts

    def __post_init__(self) -> None:
        which, number = self.part
        if not 1 <= which <= number:
            raise RunError(f"--part {which}/{number}: there is no such part; write 1/{max(number, 1)} for the first")

    @property
    def is_whole(self) -> bool:
        """Whether every cell is to be run."""
        return self.run and self.part[1] == 1 and self.minutes is None

    def chosen(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells to run if they have no result; every process with the same study chooses the same ones.

        Cells with the same dataset, seed and fold are compared in pairs and stay together if parts are few enough.
        """
        which, number = self.part
        together: dict[object, list[Cell]] = {}
        for cell in {cell.key: cell for cell in cells}.values():
            together.setdefault((cell.dataset, cell.spec.seed, cell.spec.split.fold), []).append(cell)
        groups = list(together.values())
        if len(groups) < number:
            groups = [[cell] for group in groups for cell in group]
        return [cell for group in groups[which - 1 :: number] for cell in group] if self.run else []

    def stop(self) -> Callable[[], bool]:
        """Whether the time is over, counted from this call."""
        started, minutes = time.monotonic(), self.minutes
        return lambda: minutes is not None and time.monotonic() - started >= 60 * minutes


@dataclass(frozen=True)
class Missing:
    """The cells of a variant on a dataset that have no result."""

    dataset: str
    variant: str
    missing: int
    planned: int
    seconds: float | None  # all missing ones, one after another; None if no result is similar

    @property
    def name(self) -> str:
        """Name for messages."""
        some = "" if self.missing == self.planned else f" ({self.missing} of {self.planned})"
        return f"{self.variant} on {self.dataset}{some}"


def missing_cells(cells: Sequence[Cell], results: Mapping[str, Result]) -> list[Missing]:
    """The missing cells by dataset and variant, in the order in which they would be run."""
    planned: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        planned.setdefault((cell.dataset, cell.variant), []).append(cell)
    known = [(cell, results[cell.key].seconds) for cell in cells if cell.key in results]
    lacking = []
    for (dataset, variant), own in planned.items():
        number = sum(cell.key not in results for cell in own)
        if number:
            each = _seconds(dataset, variant, known)
            total = None if each is None else number * each
            lacking.append(Missing(dataset, variant, number, len(own), total))
    return lacking


def _seconds(dataset: str, variant: str, known: Sequence[tuple[Cell, float]]) -> float | None:
    """Mean seconds of the most similar cells: same variant on the same dataset, same variant, same dataset, any."""
    similar: list[Callable[[Cell], bool]] = [
        lambda cell: (cell.dataset, cell.variant) == (dataset, variant),
        lambda cell: cell.variant == variant,
        lambda cell: cell.dataset == dataset,
        lambda cell: True,
    ]
    for is_similar in similar:
        seconds = [taken for cell, taken in known if is_similar(cell)]
        if seconds:
            return fmean(seconds)
    return None


def state(cells: Sequence[Cell], results: Mapping[str, Result]) -> str:
    """`12 of 40 cells are in; missing: ...`, or that all are in."""
    lacking = missing_cells(cells, results)
    if not lacking:
        return f"All {len(cells):,} cells are in."
    number = len(cells) - sum(one.missing for one in lacking)
    more = [f"{len(lacking) - MOST_NAMED} more"] if len(lacking) > MOST_NAMED else []
    names = ", ".join([*(one.name for one in lacking[:MOST_NAMED]), *more])
    return f"{number:,} of {len(cells):,} cells are in; missing: {names}."


def as_json(lacking: Sequence[Missing]) -> list[dict[str, Any]]:
    """The missing cells for results.json."""
    return [
        {
            "dataset": one.dataset,
            "variant": one.variant,
            "missing": one.missing,
            "planned": one.planned,
            "seconds": None if one.seconds is None else round(one.seconds, 1),
        }
        for one in lacking
    ]
