"""Cells in processes of this machine, and what any engine that runs cells must offer. Imports no torch.

Processes come from a fork server that has loaded torch (`work`), so that a cell starts quickly and its memory is freed
when it ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol

from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.threads import threads_per_job


class RunningCell(Protocol):
    """A started cell, with the methods of a process."""

    @property
    def exitcode(self) -> int | None:
        """130 or 143 if it was interrupted."""
        ...

    def is_alive(self) -> bool:
        """Whether it is still running."""
        ...

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        ...

    def terminate(self) -> None:
        """Let it write a checkpoint and end."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class CellEngine(Protocol):
    """Starts cells, several at a time; each writes a result or an error into its folder."""

    def slots(self) -> int:
        """How many cells may run now."""
        ...

    def start(self, cell: Cell, cache: Path, keep: bool) -> Any:
        """Start a cell and return a RunningCell."""
        ...

    def wait(self, running: Sequence[Any], seconds: float | None) -> None:
        """Wait until one of the cells ends or the seconds are over."""
        ...


class LocalProcesses:
    """Several processes on this machine, one for each cell."""

    def __init__(self, count: int = 1) -> None:
        self.count = count

    def slots(self) -> int:
        """The number of processes."""
        return self.count

    def start(self, cell: Cell, cache: Path, keep: bool) -> Any:
        """The started process of a cell."""
        return start_cell(cell, cache, keep, self.count)

    def wait(self, running: Sequence[Any], seconds: float | None) -> None:
        """Wait until a process ends or the seconds are over."""
        wait([process.sentinel for process in running], seconds)


def start_cell(cell: Cell, cache: Path, keep: bool, jobs: int = 1) -> Any:
    """The started process of a cell; unless its threads are set, `threads_per_job` chooses them."""
    context: Any = get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if hasattr(os, "fork"):
        context.set_forkserver_preload(["phasefit.studies.work"])
    folder = cell_folder(cache, cell)
    cell = replace(cell, threads=cell.spec.machine.threads or threads_per_job(jobs))
    process = context.Process(target=_carry_out, args=(cell, folder, keep), name=cell.name)
    with _without_main():
        process.start()
    return process


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module from a new process, which would run a script without `if __name__ == "__main__"` again."""
    main = sys.modules["__main__"]
    hidden = {name: vars(main)[name] for name in ("__file__", "__spec__") if name in vars(main)}
    for name in hidden:
        setattr(main, name, None)
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)


def _carry_out(cell: Cell, folder: Path, keep: bool) -> None:
    from phasefit.studies.work import main

    main(cell, folder, keep)
