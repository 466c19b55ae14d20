"""The harness notices what it is for: with a sync or a rename removed, it reports failures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faults.harness import Disk, Loss, PowerCut, state_of
from faults.scenarios import Injector, Place, Scenario
from phasefit.errors import RunError
from phasefit.files import atomic, system
from phasefit.files.atomic import discard_abandoned, make_folders, new_folder, write_file, write_text

Broken = Callable[[pytest.MonkeyPatch], None]


def write_the_file(place: Place) -> None:
    write_text(place.work / "y.csv", "new and longer")
    discard_abandoned(place.work)


def write_the_folder(place: Place) -> None:
    try:
        with new_folder(place.work / "model") as temporary:
            system.write(temporary, lambda folder: [(folder / name).write_text("new" * 9) for name in ("a", "b")])
    except OSError as error:
        raise RunError(error.strerror) from error
    atomic.discard_temporaries(place.work)


FILE = Scenario("file", "file", write_the_file, "y.csv", write_the_file, replaces=True)
FOLDER = Scenario("folder", "empty", write_the_folder, "model", write_the_folder)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.begin(None)
    place.keep("empty")
    (place.work / "y.csv").write_text("old", encoding="utf-8")
    place.keep("file")
    return place


def failures(place: Place, scenario: Scenario, broken: Broken) -> list[str]:
    """The failures with a scenario whose code is broken, but not when it is repeated."""

    def run(place: Place) -> None:
        with pytest.MonkeyPatch.context() as patch:
            broken(patch)
            scenario.run(place)

    injector = Injector(place, replace(scenario, run=run))
    injector.all()
    assert injector.count.injected == injector.count.cases > 5
    return injector.count.failures


def nothing(patch: pytest.MonkeyPatch) -> None:
    """Break nothing."""


def no_sync(which: Callable[[Path], bool]) -> Broken:
    def broken(patch: pytest.MonkeyPatch) -> None:
        real = system.sync
        patch.setattr(system, "sync", lambda path: None if which(path) else real(path))

    return broken


def no_rename(patch: pytest.MonkeyPatch) -> None:
    """Write in place."""
    patch.setattr(atomic, "write_file", system.write)


def no_sync_of_the_tree(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(atomic, "sync_tree", lambda folder: None)


def removed_first(patch: pytest.MonkeyPatch) -> None:
    """Remove the old file before the new one takes its place."""
    real = system.rename

    def rename(source: Path, target: Path) -> None:
        system.remove(target)
        real(source, target)

    patch.setattr(system, "rename", rename)


def swallowed(patch: pytest.MonkeyPatch) -> None:
    """Take a power cut for an error that can be ignored."""
    real = atomic.write_file

    def write(path: Path, fill: Callable[[Path], Any]) -> None:
        with suppress(PowerCut):
            real(path, fill)

    patch.setattr(atomic, "write_file", write)


@pytest.mark.parametrize("scenario", [FILE, FOLDER], ids=lambda scenario: scenario.name)
def test_correct_code_passes(place: Place, scenario: Scenario) -> None:
    assert failures(place, scenario, nothing) == []


@pytest.mark.parametrize(
    ("scenario", "broken", "expected"),
    [
        pytest.param(FILE, no_sync(Path.is_file), "the result is lost", id="no sync of the file"),
        pytest.param(FILE, no_sync(Path.is_dir), "the result is lost", id="no sync of the folder"),
        pytest.param(FILE, no_rename, "neither the old nor the new", id="no rename"),
        pytest.param(FILE, removed_first, "neither the old nor the new", id="the old file removed first"),
        pytest.param(FILE, swallowed, "swallowed", id="power cut swallowed"),
        pytest.param(FOLDER, no_sync_of_the_tree, "the result is lost", id="no sync of a new folder"),
        pytest.param(FOLDER, no_sync(Path.is_dir), "the result is lost", id="no sync of names"),
    ],
)
def test_broken_code_is_noticed(place: Place, scenario: Scenario, broken: Broken, expected: str) -> None:
    found = failures(place, scenario, broken)
    assert any(expected in failure for failure in found), found


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_changed_file_of_the_user_is_noticed(place: Place, kind: str) -> None:
    def broken(patch: pytest.MonkeyPatch) -> None:
        (place.work / "notes.txt").write_text("not mine", encoding="utf-8")

    found = failures(place, {"file": FILE, "folder": FOLDER}[kind], broken)
    assert all("a file of the user" in failure for failure in found)


# --- what a power cut does --------------------------------------------------------------------------------------------


def lost(tmp_path: Path, loss: Loss, work: Callable[[Path], None]) -> dict[str, str]:
    """The files after some work and a power cut."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "old").write_text("the old content", encoding="utf-8")
    disk = Disk(folder, tmp_path / "aside")
    with disk.installed():
        work(folder)
    disk.lose(loss)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") if path.is_file() else "folder"
        for path in folder.rglob("*")
    }


def unsynced(folder: Path) -> None:
    system.create(folder / "a")
    system.write(folder / "a", lambda path: path.write_text("12345678", encoding="utf-8"))
    system.rename(folder / "a", folder / "old")
    system.make_folder(folder / "new")


def test_without_a_sync_content_is_torn_or_empty(tmp_path: Path) -> None:
    assert lost(tmp_path, Loss("kept", "torn"), unsynced) == {"old": "1234", "new": "folder"}


def test_without_a_sync_names_are_undone(tmp_path: Path) -> None:
    assert lost(tmp_path, Loss("undone", "empty"), unsynced) == {"old": "the old content"}


def test_a_sync_saves_content_and_names(tmp_path: Path) -> None:
    def synced(folder: Path) -> None:
        unsynced(folder)
        system.sync(folder / "old")
        system.sync(folder)

    assert lost(tmp_path, Loss("undone", "empty"), synced) == {"old": "12345678", "new": "folder"}


def test_what_was_removed_comes_back(tmp_path: Path) -> None:
    def removed(folder: Path) -> None:
        make_folders(folder / "one" / "two")
        write_file(folder / "one" / "two" / "file", lambda path: path.write_text("safe", encoding="utf-8"))
        system.remove_tree(folder / "one")
        system.remove(folder / "old")

    everything = {"old": "the old content", "one": "folder", "one/two": "folder", "one/two/file": "safe"}
    assert lost(tmp_path, Loss("undone", "empty"), removed) == everything


def test_moved_folders_are_followed(tmp_path: Path) -> None:
    """A name that is not synced in a folder which was moved and whose own name is."""

    def moved(folder: Path) -> None:
        make_folders(folder / "one")
        system.create(folder / "one" / "file")
        system.rename(folder / "one", folder / "two")
        system.sync(folder)

    assert lost(tmp_path, Loss("undone", "empty"), moved) == {"old": "the old content", "two": "folder"}


def test_after_a_power_cut_nothing_works(tmp_path: Path) -> None:
    disk = Disk(tmp_path, tmp_path / "aside", at=2)
    with disk.installed():
        for _ in range(2):
            with pytest.raises(PowerCut):
                write_text(tmp_path / "file", "text")
    assert any(name.startswith(".phasefit") for name in state_of(tmp_path))  # cleaning up failed as well
