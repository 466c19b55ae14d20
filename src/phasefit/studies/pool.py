"""Runs many cells, several at a time, on an engine; existing results are reused.

`run_stream` runs cells that are produced one by one, `run_cells` runs a list. With a ledger, its results are reused,
and finished cells are added to it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from phasefit.errors import Interrupted, PhasefitError
from phasefit.events import Note
from phasefit.files.atomic import discard_tree
from phasefit.files.lock import IN_USE
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.cell_queue import CellQueue
from phasefit.studies.ledger import Ledger
from phasefit.studies.processes import CellEngine, LocalProcesses, RunningCell
from phasefit.studies.result import Result, finished_result, read_result

GRACE = 20.0  # seconds for a cell to write a checkpoint and exit
EVERY = 0.5  # seconds between checks of running cells
MOST_FAILED = 3  # failed cells in a row end a study


@dataclass(frozen=True)
class CellStarted:
    """A cell has started."""

    cell: Cell


@dataclass(frozen=True)
class CellDone:
    """A cell has its result; `cached` if it existed before."""

    cell: Cell
    result: Result
    done: int
    total: int
    cached: bool = False


@dataclass(frozen=True)
class CellEnded:
    """A cell that has a result, failed (`why` is the reason), or was stopped by `watch` (neither)."""

    cell: Cell
    result: Result | None = None
    why: str = ""
    cached: bool = False


CellEvent = CellStarted | CellDone | Note
Listener = Callable[[CellEvent], None]
Running = list[tuple[Cell, RunningCell]]
ONE = LocalProcesses()


class CellError(PhasefitError):
    """A cell failed; the message names the cell and the reason."""


def run_cells(
    cells: Sequence[Cell],
    cache: Path,
    *,
    engine: CellEngine = ONE,
    keep: bool = False,
    listen: Listener = lambda event: None,
    enough: Callable[[], bool] = lambda: False,
    ledger: Ledger | None = None,
    chosen: Collection[str] | None = None,
) -> dict[str, Result]:
    """The results by key. No new cell starts once `enough` returns True.

    Of the cells without a result, only those with a `chosen` key are run; default: all. Those that another process runs
    in the same cache are left to it, and their results are used. If a cell fails, the other cells of its variant on its
    dataset are left out, and CellError is raised after all others; three failures in a row end the study.
    """
    results: dict[str, Result] = {}
    stored: list[CellEnded] = []
    waiting: list[Cell] = []
    failures: list[str] = []
    in_a_row = 0

    def ended(event: CellEnded) -> None:
        nonlocal in_a_row
        if event.why.startswith(IN_USE):
            queue.put_back(event.cell)
            return
        if event.result is None:
            failures.append(f"{event.cell.name}: {event.why}")
            left_out, in_a_row = queue.drop(event.cell), in_a_row + 1
            if in_a_row == MOST_FAILED or not queue.remain():
                raise failure()
            more = f"; {left_out} more of this variant left out" if left_out else ""
            listen(Note(f"{failures[-1]}{more}", warning=True))
            return
        in_a_row = 0
        results[event.cell.key] = event.result
        listen(CellDone(event.cell, event.result, len(results), len(stored) + planned, event.cached))

    def failure() -> CellError:
        others = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        kept = f"; the results of other cells are kept ({len(results)})" if results else ""
        return CellError(f"{failures[0]}{others}{kept}")

    for cell in {cell.key: cell for cell in cells}.values():
        result = stored_result(cell, cache, ledger, keep)
        if result is not None:
            stored.append(CellEnded(cell, result, cached=True))
        elif chosen is None or cell.key in chosen:
            waiting.append(cell)
    planned = len(waiting)
    note = Note("the remaining cells are run by another process; waiting for their results")
    queue = CellQueue(waiting, cache, enough=enough, waits=lambda: listen(note))
    for event in stored:
        ended(event)

    def taken_ended(event: CellEnded) -> None:
        queue.ended()
        ended(event)

    run_stream(
        queue.take,
        cache,
        taken_ended,
        engine=engine,
        keep=keep,
        done=len(results),
        started=lambda cell: listen(CellStarted(cell)),
        ledger=ledger,
    )
    if failures:
        raise failure()
    return results


def run_stream(
    next_cell: Callable[[], Cell | None],
    cache: Path,
    ended: Callable[[CellEnded], None],
    *,
    engine: CellEngine = ONE,
    keep: bool = False,
    done: int = 0,
    started: Callable[[Cell], None] = lambda cell: None,
    watch: Callable[[Cell, Path], bool] | None = None,
    every: float = EVERY,
    ledger: Ledger | None = None,
) -> None:
    """Run cells until `next_cell` returns None and no cell is running; `watch` decides whether to stop a running cell.

    `done` is the number of cells finished before, for the message of an interrupted study.
    """

    def report(event: CellEnded) -> None:
        nonlocal done
        done += event.result is not None
        ended(event)

    with managed_processes(lambda: done) as running:
        while True:
            while len(running) < engine.slots() and (cell := next_cell()) is not None:
                result = stored_result(cell, cache, ledger, keep)
                if result is not None:
                    report(CellEnded(cell, result, cached=True))
                    continue
                started(cell)
                running.append((cell, engine.start(cell, cache, keep)))
            if not running:
                return
            for cell in finished(engine, running, None if watch is None else every):
                report(outcome(cell, cache, ledger))
            for cell, process in list(running):
                if watch is not None and process.is_alive() and watch(cell, cell_folder(cache, cell)):
                    _stop(running, cell, process, cache)
                    report(CellEnded(cell))


def stored_result(cell: Cell, cache: Path, ledger: Ledger | None, keep: bool) -> Result | None:
    """The result in the ledger or the cache, which is then added to the ledger; None if the cell must be run.

    A ledger has no models: if they are kept, only the cache counts.
    """
    with_model = keep and not cell.is_baseline
    known = None if ledger is None or with_model else ledger.find(cell)
    if known is not None:
        return known
    folder = cell_folder(cache, cell)
    result = finished_result(folder, with_model=with_model)
    return result if result is None or ledger is None else ledger.add(cell, folder)


def finished(engine: CellEngine, running: Running, seconds: float | None = None) -> Iterable[Cell]:
    """Wait until a process ends or the seconds are over; remove and return the cells whose processes have ended."""
    engine.wait([process for _, process in running], seconds)
    ended = [(cell, process) for cell, process in running if not process.is_alive()]
    for pair in ended:
        running.remove(pair)
        pair[1].join()
        if pair[1].exitcode in (130, 128 + signal.SIGTERM):
            raise Interrupted(signal=signal.SIGINT)
    return [cell for cell, _ in ended]


def outcome(cell: Cell, cache: Path, ledger: Ledger | None = None) -> CellEnded:
    """The result of a cell whose process has ended, then also in the ledger, or the reason why it failed."""
    folder = cell_folder(cache, cell)
    result = read_result(folder)
    if result is not None:
        return CellEnded(cell, result if ledger is None else ledger.add(cell, folder))
    error = folder / "error.txt"
    why = error.read_text(encoding="utf-8") if error.is_file() else f"its process was killed (see {folder})"
    return CellEnded(cell, why=why)


@contextmanager
def managed_processes(done: Callable[[], int]) -> Iterator[Running]:
    """Ends all processes on exit; on Control-C and SIGTERM each has time to write a checkpoint."""
    running: Running = []
    before: Any = None
    in_main = threading.current_thread() is threading.main_thread()
    if in_main:
        before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield running
    except KeyboardInterrupt as error:
        if in_main:  # a shell may signal both the process and its group; ignore the second signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end(running)
        message = f"finished cells are kept ({done()}); run the same command again to resume"
        raise Interrupted(message, getattr(error, "signal", signal.SIGINT)) from None
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
    """Kill a cell and delete its folder: a stopped trial needs no checkpoint."""
    running.remove((cell, process))
    process.kill()
    process.join()
    discard_tree(cell_folder(cache, cell))
