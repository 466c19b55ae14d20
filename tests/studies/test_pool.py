"""Cells in processes: ended in order whatever happens, never run twice, watched and stopped."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from inline_cells import inline_cells
from phasefit.errors import Interrupted
from phasefit.events import Note
from phasefit.files.lock import acquire_lock, is_locked, release_lock
from phasefit.studies import processes
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.pool import (
    CellDone,
    CellEnded,
    CellError,
    CellEvent,
    CellStarted,
    managed_processes,
    run_cells,
    run_stream,
)
from phasefit.studies.processes import LocalProcesses
from phasefit.studies.result import RESULT, RUN, finished_result
from phasefit.studies.threads import threads_per_job
from phasefit.studies.work import carry_out
from specs import run_spec


def cells(number: int = 3) -> list[Cell]:
    return [Cell("snips", "majority", run_spec("snips", recipe="majority", seed=seed)) for seed in range(number)]


class Lingering:
    """A process that ends only when it is killed."""

    exitcode = None

    def __init__(self) -> None:
        self.calls: list[str] = []

    def terminate(self) -> None:
        self.calls.append("terminate")
        os.kill(os.getpid(), signal.SIGTERM)  # what a shell's second word would do

    def join(self, timeout: float | None = None) -> None:
        self.calls.append("join")

    def is_alive(self) -> bool:
        return "kill" not in self.calls

    def kill(self) -> None:
        self.calls.append("kill")


def test_results_are_reported_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    events: list[CellEvent] = []
    results = run_cells(cells(), tmp_path, listen=events.append)
    assert len(results) == 3
    assert [type(event) for event in events] == [CellStarted, CellDone] * 3
    monkeypatch.setattr("phasefit.studies.processes.start_cell", None)  # nothing may start again
    again: list[CellEvent] = []
    assert run_cells(cells(), tmp_path, listen=again.append) == results
    assert all(isinstance(event, CellDone) and event.cached for event in again)


@pytest.mark.parametrize(
    ("value", "jobs", "threads"),
    [("1", 1, 1), ("3", 2, 3), ("2,1", 1, 2), ("", 2, 4), ("0", 1, 8), ("many", 8, 1), (None, 16, 1)],
)
def test_cells_use_the_threads_of_the_environment_as_train_does(
    monkeypatch: pytest.MonkeyPatch, value: str | None, jobs: int, threads: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if value is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads_per_job(jobs) == threads


def test_a_result_records_versions_threads_and_the_content_of_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline_cells(monkeypatch)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (one,) = cells(1)
    assert run_cells([one], tmp_path, engine=LocalProcesses(2))[one.key].threads == 2
    content = json.loads((cell_folder(tmp_path, one) / RESULT).read_text(encoding="utf-8"))
    assert (content["threads"], content["identity"]) == (2, one.identity())
    assert {"phasefit", "torch"} <= {*content["versions"]}
    monkeypatch.setattr("phasefit.studies.processes.start_cell", None)  # another number of jobs takes the same result
    assert len(run_cells([one], tmp_path)) == 1


def test_equal_cells_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    events: list[CellEvent] = []
    assert len(run_cells([*cells(1), *cells(1)], tmp_path, listen=events.append)) == 1
    assert len(events) == 2


def test_no_cell_starts_after_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    answers = iter([False, True])
    assert len(run_cells(cells(), tmp_path, enough=lambda: next(answers, True))) == 1


def test_a_killed_process_is_an_error_that_names_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    monkeypatch.setattr("inline_cells.carry_out", lambda *_: {})
    with pytest.raises(CellError, match="majority on snips, seed 0: its process was killed"):
        run_cells(cells(1), tmp_path)


def failing(monkeypatch: pytest.MonkeyPatch, *broken: str) -> None:
    """Cells whose processes end without a result if their name contains one of these."""
    inline_cells(monkeypatch)

    def fails(cell: Cell, *options: Any) -> Any:
        return {} if any(part in cell.name for part in broken) else carry_out(cell, *options)

    monkeypatch.setattr("inline_cells.carry_out", fails)


def test_a_variant_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "broken")
    broken = [replace(cell, variant="broken", spec=cell.spec.replace(rows=200)) for cell in cells(3)]
    events: list[CellEvent] = []
    mixed = [cell for pair in zip(broken, cells(3), strict=True) for cell in pair]
    message = r"^broken on snips, seed 0: its process was killed .*; the results of other cells are kept \(3\)$"
    with pytest.raises(CellError, match=message):
        run_cells(mixed, tmp_path, listen=events.append)
    (note,) = (event for event in events if isinstance(event, Note))
    assert note.warning
    assert note.text.endswith("; 2 more of this variant left out")
    assert [event.cell.name for event in events if isinstance(event, CellDone)] == [cell.name for cell in cells(3)]


def test_three_failures_in_a_row_end_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "majority")
    (one,) = cells(1)
    many = [replace(one, variant=f"majority {rows}", spec=one.spec.replace(rows=rows)) for rows in range(100, 106)]
    events: list[CellEvent] = []
    with pytest.raises(CellError, match=r"^majority 100 on snips, seed 0: .* \(and 2 more\)$"):
        run_cells(many, tmp_path, listen=events.append)
    assert sum(isinstance(event, CellStarted) for event in events) == 3


def test_progress_counts_the_chosen_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    events: list[CellEvent] = []
    run_cells(cells(1), tmp_path)
    run_cells(cells(3), tmp_path, listen=events.append, chosen=[cells(3)[1].key])
    assert [(event.done, event.total) for event in events if isinstance(event, CellDone)] == [(1, 2), (2, 2)]


def test_a_damaged_result_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = cells(1)
    cell_folder(tmp_path, one).mkdir()
    (cell_folder(tmp_path, one) / RESULT).write_text("{ half a resu")
    inline_cells(monkeypatch)
    assert run_cells([one], tmp_path)[one.key].metrics["test"]["rows"] == 33


def test_an_interrupted_study_ends_its_cells_and_explains_how_to_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    process: Any = Lingering()

    def study() -> None:
        with managed_processes(done=lambda: 4) as running:
            running.append((cells(1)[0], process))
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    kept = r"finished cells are kept \(4\); run the same command again to resume"
    with pytest.raises(Interrupted, match=kept) as caught:
        study()
    assert caught.value.signal == signal.SIGTERM
    assert process.calls == ["terminate", "join", "kill", "join"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_result_without_the_required_model_is_not_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = cells(1)
    inline_cells(monkeypatch)
    run_cells([one], tmp_path)
    folder = cell_folder(tmp_path, one)
    assert finished_result(folder, with_model=False) is not None
    assert finished_result(folder, with_model=True) is None
    (folder / RUN).mkdir()
    assert finished_result(folder, with_model=True) is None
    manifest = {"format": 2, "status": "finished", "files": {"labels.json": "0" * 64}}
    (folder / RUN / "phasefit.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert finished_result(folder, with_model=True) is None, "partly deleted"
    (folder / RUN / "labels.json").touch()
    assert finished_result(folder, with_model=True) is not None


@pytest.fixture
def topic_cells(tmp_path: Path) -> list[Cell]:
    data = tmp_path / "topics.csv"
    data.write_text("text,label\na,x\nb,y\n", encoding="utf-8")
    return [Cell("topics", f"trial {seed}", run_spec(str(data), recipe="finetune", seed=seed)) for seed in range(4)]


def write_result(folder: Path, score: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"metrics": {"validation": {"accuracy": score}}, "rows": {}, "own_test": False}
    (folder / RESULT).write_text(json.dumps({**content, "seconds": 1.0, "memory_mb": 1.0, "command": ""}))


def test_cells_end_with_a_result_an_error_or_a_stop(
    topic_cells: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, cache = topic_cells, tmp_path / "cells"
    write_result(cell_folder(cache, cells[0]), 0.5)
    started: list[Any] = []

    def start(cell: Cell, where: Path, keep: bool, jobs: int) -> Any:
        folder = cell_folder(where, cell)
        folder.mkdir(parents=True)
        seconds = 0.0
        if cell is cells[1]:
            write_result(folder, 0.7)
        elif cell is cells[2]:
            (folder / "error.txt").write_text("no memory")
        else:
            seconds = 60.0
        process = get_context("spawn").Process(target=time.sleep, args=(seconds,))
        process.start()
        started.append(process)
        return process

    monkeypatch.setattr(processes, "start_cell", start)
    waiting: Iterator[Cell] = iter(cells)
    events: list[CellEnded] = []
    run_stream(
        lambda: next(waiting, None),
        cache,
        events.append,
        engine=LocalProcesses(2),
        watch=lambda cell, folder: cell is cells[3] and folder.is_dir(),
        every=0.05,
    )
    by_cell = {event.cell.variant: event for event in events}
    assert len(events) == 4
    assert by_cell["trial 0"].cached
    assert by_cell["trial 1"].result is not None
    assert by_cell["trial 2"].why == "no memory"
    assert (by_cell["trial 3"].result, by_cell["trial 3"].why) == (None, "")
    assert not cell_folder(cache, cells[3]).exists()
    assert not any(process.is_alive() for process in started)


def test_cells_of_another_process_are_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    monkeypatch.setattr("phasefit.studies.cell_queue.EVERY", 0.01)
    first, second, third = cells()
    folder = cell_folder(tmp_path, first)
    folder.mkdir()
    lock = acquire_lock(folder)
    events: list[CellEvent] = []

    def other_process(event: CellEvent) -> None:
        events.append(event)
        if isinstance(event, Note):
            release_lock(folder, lock)
            carry_out(first, folder)

    assert len(run_cells([first, second, third], tmp_path, listen=other_process)) == 3
    assert [event.cell for event in events if isinstance(event, CellStarted)] == [second, third]
    assert [event.text for event in events if isinstance(event, Note)] == [
        "the remaining cells are run by another process; waiting for their results"
    ]
    assert events[-1].cell == first  # type: ignore[union-attr]
    assert not is_locked(folder)


def test_a_lock_that_nobody_holds_is_an_error_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline_cells(monkeypatch)
    (one,) = cells(1)
    cell_folder(tmp_path, one).mkdir()
    (cell_folder(tmp_path, one) / ".lock").write_text("planted", encoding="utf-8")
    with pytest.raises(CellError, match="is not a lock file of phasefit"):
        run_cells([one], tmp_path)


def test_a_cell_that_another_process_starts_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)
    first, second = cells(2)
    folder = cell_folder(tmp_path, first)
    folder.mkdir()
    locks: list[Any] = []

    def other_process(event: CellEvent) -> None:
        if isinstance(event, CellStarted) and event.cell == first and not locks:
            locks.append(acquire_lock(folder))  # after this process has chosen the cell
        if isinstance(event, CellDone) and event.cell == second:
            release_lock(folder, locks[0])

    assert len(run_cells([first, second], tmp_path, listen=other_process)) == 2
