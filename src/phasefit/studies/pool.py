"""Many cells, some at a time, each in a process of its own; results that are there already are taken as they are.

Processes come from a fork server that has loaded torch (`work`): a cell starts in a moment, its memory is its own, and
what it leaks goes with it. `run_stream` runs cells that are made up one after the other, `run_cells` a list of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType
from typing import Any

from phasefit.errors import Interrupted, PhasefitError
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.result import Result, finished_result, read_result

GRACE = 20.0  # seconds that a cell has to write a checkpoint and leave
EVERY = 0.5  # seconds between two looks at the cells that run


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


@dataclass(frozen=True)
class CellEnded:
    """A cell that has its result, failed (`why` says how), or was stopped by whoever watched it (neither)."""

    cell: Cell
    result: Result | None = None
    why: str = ""
    cached: bool = False


CellEvent = CellStarted | CellDone
Listener = Callable[[CellEvent], None]
Running = list[tuple[Cell, Any]]


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
    """The results by key. `enough` is asked before each new cell and may end it early; a cell that fails ends it."""
    results: dict[str, Result] = {}
    different = {cell.key: cell for cell in cells}
    waiting: list[Cell] = []

    def ended(event: CellEnded) -> None:
        if event.result is None:
            raise CellError(f"{event.cell.name}: {event.why}")
        results[event.cell.key] = event.result
        listen(CellDone(event.cell, event.result, len(results), len(different), event.cached))

    for cell in different.values():
        result = finished_result(cell_folder(cache, cell), with_model=keep and not cell.is_baseline)
        if result is None:
            waiting.append(cell)
        else:
            ended(CellEnded(cell, result, cached=True))
    run_stream(
        lambda: waiting.pop(0) if waiting and not enough() else None,
        cache,
        ended,
        jobs=jobs,
        keep=keep,
        done=len(results),
        started=lambda cell: listen(CellStarted(cell)),
    )
    return results


def run_stream(
    next_cell: Callable[[], Cell | None],
    cache: Path,
    ended: Callable[[CellEnded], None],
    *,
    jobs: int = 1,
    keep: bool = False,
    done: int = 0,
    started: Callable[[Cell], None] = lambda cell: None,
    watch: Callable[[Cell, Path], bool] | None = None,
    every: float = EVERY,
) -> None:
    """Run cells until `next_cell` has none and none runs; `watch` says whether a running one is to be stopped.

    `done` counts the cells that were done before, for the message of a study that is interrupted.
    """

    def report(event: CellEnded) -> None:
        nonlocal done
        done += event.result is not None
        ended(event)

    with managed_processes(lambda: done) as running:
        while True:
            while len(running) < jobs and (cell := next_cell()) is not None:
                result = finished_result(cell_folder(cache, cell), with_model=keep and not cell.is_baseline)
                if result is not None:
                    report(CellEnded(cell, result, cached=True))
                    continue
                started(cell)
                running.append((cell, start_cell(cell, cache, keep, jobs)))
            if not running:
                return
            for cell in finished(running, None if watch is None else every):
                report(outcome(cell, cache))
            for cell, process in list(running):
                if watch is not None and process.is_alive() and watch(cell, cell_folder(cache, cell)):
                    _stop(running, cell, process, cache)
                    report(CellEnded(cell))


def start_cell(cell: Cell, cache: Path, keep: bool, jobs: int = 1) -> Any:
    """Its process, begun; unless it is said how many threads it may use, the cores are shared out between the jobs."""
    context: Any = get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if hasattr(os, "fork"):
        context.set_forkserver_preload(["phasefit.studies.work"])
    folder, shared = cell_folder(cache, cell), max((os.cpu_count() or 1) // max(jobs, 1), 1)
    cell = replace(cell, threads=cell.spec.machine.threads or shared)
    process = context.Process(target=_carry_out, args=(cell, folder, keep), name=cell.name)
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


def outcome(cell: Cell, cache: Path) -> CellEnded:
    """What a cell whose process has ended left: its result, or why there is none."""
    folder = cell_folder(cache, cell)
    result = read_result(folder)
    if result is not None:
        return CellEnded(cell, result)
    error = folder / "error.txt"
    why = error.read_text(encoding="utf-8") if error.is_file() else f"its process was ended from outside ({folder})"
    return CellEnded(cell, why=why)


@contextmanager
def managed_processes(done: Callable[[], int]) -> Iterator[Running]:
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


def _stop(running: Running, cell: Cell, process: Any, cache: Path) -> None:
    """At once: what is given up needs no checkpoint."""
    running.remove((cell, process))
    process.kill()
    process.join()
    shutil.rmtree(cell_folder(cache, cell), ignore_errors=True)
