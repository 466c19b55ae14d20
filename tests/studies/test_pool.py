"""Cells in processes: ended in order whatever happens, and never run twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from inline_cells import inline_cells
from phasefit.errors import Interrupted
from phasefit.prepare.request import TrainRequest
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.pool import CellDone, CellError, CellEvent, CellStarted, orderly, run_cells
from phasefit.studies.result import RESULT, RUN, finished_result


def cells(number: int = 3) -> list[Cell]:
    return [Cell("snips", "majority", TrainRequest("snips", recipe="majority", seed=seed)) for seed in range(number)]


class Lingering:
    """A process that ends only when it is told to."""

    exitcode = None

    def __init__(self) -> None:
        self.told: list[str] = []

    def terminate(self) -> None:
        self.told.append("terminate")
        os.kill(os.getpid(), signal.SIGTERM)  # what a shell's second word would do

    def join(self, timeout: float | None = None) -> None:
        self.told.append("join")

    def is_alive(self) -> bool:
        return "kill" not in self.told

    def kill(self) -> None:
        self.told.append("kill")


def test_results_come_with_events_and_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    events: list[CellEvent] = []
    results = run_cells(cells(), tmp_path, listen=events.append)
    assert len(results) == 3
    assert [type(event) for event in events] == [CellStarted, CellDone] * 3
    monkeypatch.setattr("phasefit.studies.pool.start_cell", None)  # nothing may start again
    again: list[CellEvent] = []
    assert run_cells(cells(), tmp_path, listen=again.append) == results
    assert all(isinstance(event, CellDone) and event.cached for event in again)


def test_equal_cells_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    events: list[CellEvent] = []
    assert len(run_cells([*cells(1), *cells(1)], tmp_path, listen=events.append)) == 1
    assert len(events) == 2


def test_enough_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    answers = iter([False, True])
    assert len(run_cells(cells(), tmp_path, enough=lambda: next(answers, True))) == 1


def test_a_process_that_left_nothing_is_an_error_that_names_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline_cells(monkeypatch)
    monkeypatch.setattr("inline_cells.carry_out", lambda *_: {})
    with pytest.raises(CellError, match="majority on snips, seed 0: its process was ended from outside"):
        run_cells(cells(1), tmp_path)


def test_a_damaged_result_is_computed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = cells(1)
    cell_folder(tmp_path, one).mkdir()
    (cell_folder(tmp_path, one) / RESULT).write_text("{ half a resu")
    inline_cells(monkeypatch)
    assert run_cells([one], tmp_path)[one.key].metrics["test"]["rows"] == 33


def test_an_interrupted_study_ends_its_cells_and_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    process: Any = Lingering()

    def study() -> None:
        with orderly(done=lambda: 4) as running:
            running.append((cells(1)[0], process))
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="4 cells are done and kept; the same command goes on") as caught:
        study()
    assert caught.value.signal == signal.SIGTERM
    assert process.told == ["terminate", "join", "kill", "join"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_result_whose_model_is_wanted_and_gone_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = cells(1)
    inline_cells(monkeypatch)
    run_cells([one], tmp_path)
    folder = cell_folder(tmp_path, one)
    assert finished_result(folder, with_model=False) is not None
    assert finished_result(folder, with_model=True) is None
    (folder / RUN).mkdir()
    assert finished_result(folder, with_model=True) is not None
