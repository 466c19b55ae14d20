"""Runs that are replaced by runs that are killed, fail, or find an unrelated folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from phasefit.errors import RunError
from phasefit.files import system
from phasefit.files.atomic import read_json
from phasefit.files.manifest import MANIFEST
from phasefit.runs.folder import RunFolder, read_started
from phasefit.training.checkpoint_folder import CHECKPOINTS


def begin(path: Path, seed: int, *, overwrite: bool = True) -> RunFolder:
    folder = RunFolder(path, overwrite=overwrite)
    folder.begin({"seed": seed, "resume": {}})
    return folder


def killed(path: Path, seed: int) -> None:
    """A run that was started and killed."""
    begin(path, seed).leave()


def seed_of(path: Path) -> int:
    return int(read_json(path / MANIFEST)["seed"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_replacement_can_be_replaced_and_the_old_run_is_kept(tmp_path: Path) -> None:
    begin(tmp_path / "run", 1).finish({})
    killed(tmp_path / "run", 2)
    again = begin(tmp_path / "run", 3)
    assert seed_of(tmp_path / "run.old") == 1
    again.finish({})
    assert names(tmp_path) == ["run"]
    assert seed_of(tmp_path / "run") == 3
    assert names(tmp_path / "run") == [MANIFEST]


def test_a_replacement_that_fails_changes_nothing(tmp_path: Path) -> None:
    begin(tmp_path / "run", 1).finish({})
    killed(tmp_path / "run", 2)
    begin(tmp_path / "run", 3).abandon()
    assert (seed_of(tmp_path / "run"), seed_of(tmp_path / "run.old")) == (2, 1)
    again = RunFolder.reopen(tmp_path / "run")
    again.finish({})
    assert (names(tmp_path), seed_of(tmp_path / "run")) == (["run"], 2)


@pytest.mark.parametrize("finished", [True, False])
def test_an_unrelated_folder_is_never_touched(tmp_path: Path, finished: bool) -> None:
    first = begin(tmp_path / "run", 1)
    first.finish({}) if finished else first.leave()
    (tmp_path / "run.old").mkdir()
    (tmp_path / "run.old" / "thesis.txt").write_text("years of work")
    begin(tmp_path / "run", 2).abandon()
    assert seed_of(tmp_path / "run") == 1
    begin(tmp_path / "run", 3).finish({})
    assert seed_of(tmp_path / "run") == 3
    assert names(tmp_path) == ["run", "run.old"]
    assert names(tmp_path / "run.old") == ["thesis.txt"]


def test_the_old_run_is_restored_if_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "run", 1).finish({})

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(RunError, match="No space left"):
            RunFolder(tmp_path / "run", overwrite=True)
    assert (names(tmp_path), seed_of(tmp_path / "run")) == (["run"], 1)
    assert names(tmp_path / "run") == [MANIFEST]


def test_a_kill_before_the_new_run_started_is_explained(tmp_path: Path) -> None:
    begin(tmp_path / "run", 1).finish({})
    RunFolder(tmp_path / "run", overwrite=True)  # and nothing more
    with pytest.raises(RunError, match=r"no run to resume.*would replace is in '.*run\.old'"):
        read_started(tmp_path / "run")
    begin(tmp_path / "run", 2).finish({})
    assert seed_of(tmp_path / "run.old") == 1, "it must not be removed"


def test_a_kill_while_finishing_is_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "run", 1).finish({})
    last = begin(tmp_path / "run", 2)
    (tmp_path / "run" / CHECKPOINTS / "000001").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(last, "clear", last.leave)  # killed after the manifest was written
        last.finish({})
    assert read_json(tmp_path / "run" / MANIFEST)["status"] == "finished"
    assert names(tmp_path) == ["run", "run.old"]
    reopened = RunFolder.reopen(tmp_path / "run")
    assert reopened.is_finished
    reopened.clear()
    assert (names(tmp_path), names(tmp_path / "run")) == (["run"], [MANIFEST])
    assert "replaces" not in read_json(tmp_path / "run" / MANIFEST)


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(tmp_path / "run", 1)
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(RunError, match="is the current folder or one above it"):
        RunFolder(Path(), overwrite=True)
    RunFolder.reopen(Path()).finish({})
    assert names(tmp_path / "run") == [MANIFEST]
    assert Path.cwd() == Path(os.path.realpath(tmp_path / "run"))


def test_a_folder_created_by_another_process_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "run", 1).finish({})
    others: list[RunFolder] = []
    rename = system.rename

    def slow(source: Path, target: Path) -> None:
        rename(source, target)
        monkeypatch.setattr(system, "rename", rename)
        others.append(begin(tmp_path / "run", 2, overwrite=False))

    monkeypatch.setattr(system, "rename", slow)
    with pytest.raises(RunError, match=r"another process is using.*the previous run is in '.*run\.old'"):
        RunFolder(tmp_path / "run", overwrite=True)
    others[0].finish({})
    assert (seed_of(tmp_path / "run"), seed_of(tmp_path / "run.old")) == (2, 1)
