"""Cells made up one after the other: watched, stopped, failed, found again. Their processes only sleep."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from phasefit.prepare.request import TrainRequest
from phasefit.studies import stream
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.result import RESULT
from phasefit.studies.stream import Ended, run_stream


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    data = tmp_path / "topics.csv"
    data.write_text("text,label\na,x\nb,y\n", encoding="utf-8")
    return [Cell("topics", f"trial {seed}", TrainRequest(str(data), recipe="finetune", seed=seed)) for seed in range(4)]


def write_result(folder: Path, score: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"metrics": {"validation": {"accuracy": score}}, "rows": {}, "own_test": False}
    (folder / RESULT).write_text(json.dumps({**content, "seconds": 1.0, "memory_mb": 1.0, "command": ""}))


def test_cells_end_with_a_result_a_sentence_or_because_they_are_stopped(
    cells: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cells"
    write_result(cell_folder(cache, cells[0]), 0.5)
    processes: list[Any] = []

    def start(cell: Cell, where: Path, keep: bool) -> Any:
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
        processes.append(process)
        return process

    monkeypatch.setattr(stream, "start_cell", start)
    waiting: Iterator[Cell] = iter(cells)
    told: list[Ended] = []
    run_stream(
        lambda: next(waiting, None),
        cache,
        told.append,
        jobs=2,
        watch=lambda cell, folder: cell is cells[3] and folder.is_dir(),
        every=0.05,
    )
    by_cell = {event.cell.variant: event for event in told}
    assert len(told) == 4
    assert by_cell["trial 0"].cached
    assert by_cell["trial 1"].result is not None
    assert by_cell["trial 2"].why == "no memory"
    assert (by_cell["trial 3"].result, by_cell["trial 3"].why) == (None, "")
    assert not cell_folder(cache, cells[3]).exists()
    assert not any(process.is_alive() for process in processes)
