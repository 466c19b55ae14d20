"""Many cells, some at a time, each in a process of its own; results that are there already are taken as they are.

Processes come from a fork server that has loaded torch (`work`): a cell starts in a moment, its memory is its own, and
what it leaks goes with it. A cell that fails stops the study; what is done stays done.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType
from typing import Any

from phasefit.errors import Interrupted, PhasefitError
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.result import Result, finished_result, read_result

GRACE = 20.0  # seconds that a cell has to write a checkpoint and leave
BAD_INPUT = 2


@dataclass(frozen=True)
class CellStarted:
    """A cell is under way."""

    cell: Cell


@dataclass(frozen=True)
class CellDone:
    """A cell has its result; `cached` where it had it before."""

    cell: Cell
    result: Result
    done: int
    total: int
    cached: bool = False


CellEvent = CellStarted | CellDone
Listener = Callable[[CellEvent], None]


class CellError(PhasefitError):
    """A cell could not be carried out; the sentence says which and why."""


def run_cells(
    cells: Sequence[Cell],
    cache: Path,
    *,
    jobs: int = 1,
    keep: bool = False,
    listen: Listener = lambda event: None,
    enough: Callable[[], bool] = lambda: False,
) -> dict[str, Result]:
    """The results by key. `enough` is asked before each new cell and may end it early."""
    results: dict[str, Result] = {}
    waiting: deque[Cell] = deque()
    different = {cell.key: cell for cell in cells}
    for key, cell in different.items():
        found = finished_result(cell_folder(cache, cell), with_model=keep and not cell.is_baseline)
        if found is None:
            waiting.append(cell)
            continue
        results[key] = found
        listen(CellDone(cell, found, len(results), len(different), cached=True))
    if not waiting:
        return results
    with orderly(done=lambda: len(results)) as running:
        while waiting or running:
            while waiting and len(running) < jobs and not enough():
                cell = waiting.popleft()
                listen(CellStarted(cell))
                running.append((cell, start_cell(cell, cache, keep)))
            if not running:
                break
            for cell in finished(running):
                results[cell.key] = result_of(cell, cache)
                listen(CellDone(cell, results[cell.key], len(results), len(different)))
    return results


Running = list[tuple[Cell, Any]]


def start_cell(cell: Cell, cache: Path, keep: bool) -> Any:
    """Its process, begun."""
    context: Any = get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if hasattr(os, "fork"):
        context.set_forkserver_preload(["phasefit.studies.work"])
    process = context.Process(target=_carry_out, args=(cell, cell_folder(cache, cell), keep), name=cell.name)
    process.start()
    return process


def _carry_out(cell: Cell, folder: Path, keep: bool) -> None:
    from phasefit.studies.work import main

    main(cell, folder, keep)


def finished(running: Running, seconds: float | None = None) -> Iterable[Cell]:
    """Wait for at least one, or so long; the cells whose processes have ended, without those that go on."""
    wait([process.sentinel for _, process in running], seconds)
    over = [(cell, process) for cell, process in running if not process.is_alive()]
    for pair in over:
        running.remove(pair)
        pair[1].join()
        if pair[1].exitcode in (130, 128 + signal.SIGTERM):
            raise Interrupted(signal=signal.SIGINT)
    return [cell for cell, _ in over]


def result_of(cell: Cell, cache: Path) -> Result:
    """What a cell whose process has ended left; an error that says why where it left nothing."""
    folder = cell_folder(cache, cell)
    found = read_result(folder)
    if found is not None:
        return found
    said = folder / "error.txt"
    why = said.read_text(encoding="utf-8") if said.is_file() else f"its process was ended from outside ({folder})"
    raise CellError(f"{cell.name}: {why}")


@contextmanager
def orderly(done: Callable[[], int]) -> Iterator[Running]:
    """Whatever happens, no process is left behind; Control-C and SIGTERM give each time for a checkpoint."""
    running: Running = []
    before: Any = None
    in_main = threading.current_thread() is threading.main_thread()
    if in_main:
        before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield running
    except KeyboardInterrupt as error:
        if in_main:  # a shell may say it twice, to the process and to its group; the first is being heeded
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end(running)
        left = f"{done()} cells are done and kept; the same command goes on"
        raise Interrupted(left, getattr(error, "signal", signal.SIGINT)) from None
    finally:
        _end(running)
        if in_main:
            signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise Interrupted(signal=number)


def _end(running: Running) -> None:
    for _, process in running:
        process.terminate()
    for _, process in running:
        process.join(GRACE)
        if process.is_alive():
            process.kill()
            process.join()
    running.clear()
