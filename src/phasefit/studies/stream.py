"""Cells that are made up one after the other, each watched while it runs and stopped where that pays.

What `pool` is for a list, this is for a search: which cell comes next depends on what came out before.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.pool import CellError, Running, finished, orderly, result_of, start_cell
from phasefit.studies.result import Result, read_result

EVERY = 0.5  # seconds between two looks at the cells that run


@dataclass(frozen=True)
class Ended:
    """A cell that has its result, failed (`why` says how), or was stopped by whoever watched it (neither)."""

    cell: Cell
    result: Result | None = None
    why: str = ""
    cached: bool = False


def run_stream(
    next_cell: Callable[[], Cell | None],
    cache: Path,
    ended: Callable[[Ended], None],
    *,
    jobs: int = 1,
    started: Callable[[Cell], None] = lambda cell: None,
    watch: Callable[[Cell, Path], bool] = lambda cell, folder: False,
    every: float = EVERY,
) -> None:
    """Run cells until `next_cell` has none and none runs; `watch` says whether a running one is to be stopped."""
    done = 0

    def tell(event: Ended) -> None:
        nonlocal done
        done += event.result is not None
        ended(event)

    with orderly(lambda: done) as running:
        while True:
            while len(running) < jobs and (cell := next_cell()) is not None:
                found = read_result(cell_folder(cache, cell))
                if found is not None:
                    tell(Ended(cell, found, cached=True))
                    continue
                started(cell)
                running.append((cell, start_cell(cell, cache, keep=False)))
            if not running:
                return
            for cell in finished(running, every):
                tell(_outcome(cell, cache))
            for cell, process in list(running):
                if process.is_alive() and watch(cell, cell_folder(cache, cell)):
                    _stop(running, cell, process, cache)
                    tell(Ended(cell))


def _outcome(cell: Cell, cache: Path) -> Ended:
    try:
        return Ended(cell, result_of(cell, cache))
    except CellError as error:
        return Ended(cell, why=str(error).removeprefix(f"{cell.name}: "))


def _stop(running: Running, cell: Cell, process: Any, cache: Path) -> None:
    """At once: what is given up needs no checkpoint."""
    running.remove((cell, process))
    process.kill()
    process.join()
    shutil.rmtree(cell_folder(cache, cell), ignore_errors=True)
