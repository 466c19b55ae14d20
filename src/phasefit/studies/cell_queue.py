"""The cells that wait for their turn; those that another process runs in the same cache come last. Imports no torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from phasefit.files.lock import is_in_use
from phasefit.studies.cell import Cell, cell_folder

EVERY = 1.0  # seconds between checks of cells that another process runs


class CellQueue:
    """Cells in their order, those that another process is running after all others."""

    def __init__(
        self, cells: Iterable[Cell], cache: Path, *, enough: Callable[[], bool], waits: Callable[[], None]
    ) -> None:
        """`enough` ends the queue; `waits` is called once if only cells of another process are left."""
        self.cells = list(cells)
        self.cache, self.enough, self.waits = cache, enough, waits
        self.running = 0  # in this process

    def take(self) -> Cell | None:
        """The next cell; None if there is none, or if none can start before one of this process ends."""
        waited = False
        while self.cells and not self.enough():
            for cell in self.cells:
                if not is_in_use(cell_folder(self.cache, cell)):
                    self.cells.remove(cell)
                    self.running += 1
                    return cell
            if self.running:
                return None
            if not waited:
                self.waits()
            waited = True
            time.sleep(EVERY)
        return None

    def put_back(self, cell: Cell) -> None:
        """Take a cell again later: another process has started it at the same moment."""
        self.cells.append(cell)

    def drop(self, failed: Cell) -> int:
        """Leave out the waiting cells of the same variant and dataset; returns their number."""
        before = len(self.cells)
        same = (failed.dataset, failed.variant)
        self.cells = [cell for cell in self.cells if (cell.dataset, cell.variant) != same]
        return before - len(self.cells)

    def remain(self) -> bool:
        """Whether cells are waiting or running in this process."""
        return bool(self.cells) or self.running > 0

    def ended(self) -> None:
        """A cell that was taken has ended."""
        self.running -= 1
