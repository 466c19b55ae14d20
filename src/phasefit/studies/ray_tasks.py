"""Cells as tasks of a Ray cluster. Imports no torch.

A task runs its cell in a separate process, as on this machine, so that time, memory and checkpoints are the same. Ray
repeats a task whose worker or node is lost, and the repeated task resumes from the last checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from phasefit.engines.choice import EngineChoice
from phasefit.engines.ray_cluster import Cluster, LostWorker, Machine, check_shared, connected
from phasefit.errors import PhasefitError
from phasefit.files.atomic import discard_file, make_folders, write_text
from phasefit.files.lock import is_in_use
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.pool import GRACE, managed_processes
from phasefit.studies.processes import CellEngine, LocalProcesses
from phasefit.studies.result import ERROR, finished_result
from phasefit.studies.threads import environment_threads

TRIES = 4  # of a cell whose process or node is lost
EVERY = 0.2  # seconds between checks of a lock or a process


class CellKilled(Exception):  # noqa: N818 - named after what happened
    """The process of a cell was killed, so that there is neither a result nor an error."""


def run_cell(cell: Cell, cache: Path, keep: bool, machine: Machine) -> None:
    """Run a cell in a separate process; its result or error is in its folder. Called in a worker."""
    machine.enter()
    folder = cell_folder(cache, cell)
    check_shared(folder)
    until = time.monotonic() + GRACE
    while is_in_use(folder) and time.monotonic() < until:  # by the process of a lost worker, which is ending
        time.sleep(EVERY)
    engine = LocalProcesses()
    with managed_processes(lambda: 0) as running:
        running.append((cell, engine.start(cell, cache, keep)))
        while running[0][1].is_alive():  # Ray interrupts a task only between two calls
            engine.wait([process for _, process in running], EVERY)
    with_model = keep and not cell.is_baseline
    if finished_result(folder, with_model=with_model) is None and not (folder / ERROR).is_file():
        raise CellKilled(cell.name)


class RayTask:
    """A task that looks like a process."""

    def __init__(self, cluster: Cluster, reference: Any, folder: Path) -> None:
        self._cluster, self.reference, self._folder = cluster, reference, folder
        self.exitcode: int | None = None

    def is_alive(self) -> bool:
        """Whether the task has not ended."""
        return not self._cluster.wait([self.reference], 0)

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end; an error of the worker becomes that of the cell."""
        if not self._cluster.wait([self.reference], timeout):
            return
        try:
            self._cluster.result(self.reference)
        except PhasefitError as error:
            write_text(self._folder / ERROR, str(error))
        except (CellKilled, LostWorker):
            write_text(self._folder / ERROR, f"its process was lost {TRIES} times, perhaps for using too much memory")
        except KeyboardInterrupt:
            pass
        self.exitcode = 0

    def terminate(self) -> None:
        """Let the cell write a checkpoint and end."""
        with suppress(ValueError):
            self._cluster.cancel(self.reference)

    def kill(self) -> None:
        """The same, and its worker is killed only if that does not help: its process would end later, unnoticed."""
        self.terminate()
        if not self._cluster.wait([self.reference], GRACE):
            self._cluster.cancel(self.reference, force=True)


class RayTasks:
    """Cells on a cluster, as many as it has room for; connected to when the first cell starts."""

    def __init__(self, connect: Callable[[], Cluster], threads: int | None) -> None:
        self._connect, self._threads = connect, threads or environment_threads() or 1

    @cached_property
    def _cluster(self) -> Cluster:
        cluster = self._connect()
        cluster.check(self._threads)
        return cluster

    def slots(self) -> int:
        """The room of the cluster, which changes with its nodes."""
        return max(self._cluster.slots(self._threads), 1)

    def start(self, cell: Cell, cache: Path, keep: bool) -> Any:
        """The started task of a cell; its threads are those of the study."""
        threads = cell.spec.machine.threads or self._threads
        folder = cell_folder(cache.absolute(), cell)
        make_folders(folder)
        discard_file(folder / ERROR)
        arguments = (replace(cell, threads=threads), cache.absolute(), keep, Machine.here())
        return RayTask(
            self._cluster, self._cluster.start_task(run_cell, threads, CellKilled, TRIES, *arguments), folder
        )

    def wait(self, running: Sequence[Any], seconds: float | None) -> None:
        """Wait until a task ends or the seconds are over."""
        self._cluster.wait([task.reference for task in running], seconds)


@contextmanager
def cell_engine(choice: EngineChoice, threads: int | None) -> Iterator[CellEngine]:
    """The chosen engine; `threads` is the number of a cell's threads, as far as the study sets it."""
    if choice.name == "local":
        yield LocalProcesses(choice.processes)
        return
    with ExitStack() as stack:
        yield RayTasks(lambda: stack.enter_context(connected(choice)), threads)
