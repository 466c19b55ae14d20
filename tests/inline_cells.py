"""Cells of studies run in the process of the test, where its fakes and its tiny encoder are registered."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from phasefit.errors import PhasefitError
from phasefit.studies.cell import Cell
from phasefit.studies.work import ERROR, carry_out

VARIABLE = "OMP_NUM_THREADS"


class InlineProcess:
    """A stand-in for a process that has already ended."""

    exitcode = 0

    def __init__(self, target: Callable[..., None], args: tuple[Cell, Path, bool], name: str) -> None:
        self.args = args
        self.sentinel, end = os.pipe()
        os.close(end)  # its reader sees the end immediately

    def start(self) -> None:
        cell, folder, keep = self.args
        folder.mkdir(parents=True, exist_ok=True)
        threads, variable = torch.get_num_threads(), os.environ.get(VARIABLE)
        try:
            carry_out(cell, folder, keep)
        except PhasefitError as error:
            (folder / ERROR).write_text(str(error), encoding="utf-8")
        finally:  # a separate process would not affect these
            torch.set_num_threads(threads)
            os.environ.pop(VARIABLE, None)
            os.environ |= {} if variable is None else {VARIABLE: variable}

    def is_alive(self) -> bool:
        return False

    def join(self, timeout: float | None = None) -> None:
        if self.sentinel >= 0:
            os.close(self.sentinel)
            self.sentinel = -1

    def terminate(self) -> None:
        """Do nothing: it has ended."""

    kill = terminate


class InlineContext:
    """A replacement for a multiprocessing context."""

    Process = InlineProcess

    def set_forkserver_preload(self, modules: list[str]) -> None:
        """Do nothing: everything is loaded."""


def inline_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run all further cells without starting processes."""
    context: Any = InlineContext()
    monkeypatch.setattr("phasefit.studies.processes.get_context", lambda method: context)
