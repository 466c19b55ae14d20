from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.errors import ModelError, RunError
from phasefit.files.atomic import write_json
from phasefit.files.manifest import read_manifest
from phasefit.runs.folder import RunFolder, next_folder
from tiny import read_json


def start(path: Path, **options: bool) -> RunFolder:
    folder = RunFolder(path, **options)
    folder.begin({"command": "phasefit train"})
    return folder


def test_a_run_starts_and_finishes(tmp_path: Path) -> None:
    folder = start(tmp_path / "deep" / "run")
    assert read_json(folder.path / "phasefit.json")["status"] == "started"
    folder.finish({"threads": 2})
    manifest = read_json(folder.path / "phasefit.json")
    assert (manifest["status"], manifest["command"], manifest["threads"]) == ("finished", "phasefit train", 2)
    assert {"phasefit", "torch", "numpy"} <= set(manifest["versions"])
    assert read_manifest(folder.path) == manifest


def test_names_are_numbered(tmp_path: Path) -> None:
    assert next_folder("reviews", tmp_path) == tmp_path / "reviews"
    assert next_folder("reviews", tmp_path) == tmp_path / "reviews-2", "the first was made, so it is taken"
    (tmp_path / "reviews-3").mkdir()
    assert next_folder("reviews", tmp_path) == tmp_path / "reviews-4"


@pytest.mark.parametrize(("name", "expected"), [("a b/c", "a-b-c"), ("../..", "run"), ("", "run"), ("ünï", "ünï")])
def test_odd_names_stay_inside(tmp_path: Path, name: str, expected: str) -> None:
    assert next_folder(name, tmp_path) == tmp_path / expected


def test_an_abandoned_run_leaves_nothing(tmp_path: Path) -> None:
    folder = start(tmp_path / "run")
    (folder.path / "half").touch()
    folder.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_run_comes_back_if_the_new_one_fails(tmp_path: Path) -> None:
    start(tmp_path / "run").finish({"which": "old"})
    new = start(tmp_path / "run", overwrite=True)
    assert "which" not in read_json(new.path / "phasefit.json")
    new.abandon()
    assert read_json(tmp_path / "run" / "phasefit.json")["which"] == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_replaced_run_is_removed_when_the_new_one_is_finished(tmp_path: Path) -> None:
    start(tmp_path / "run").finish({"which": "old"})
    start(tmp_path / "run", overwrite=True).finish({"which": "new"})
    assert read_json(tmp_path / "run" / "phasefit.json")["which"] == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_existing_files_are_never_lost_by_accident(tmp_path: Path) -> None:
    start(tmp_path / "run").finish({})
    with pytest.raises(RunError, match="--overwrite"):
        RunFolder(tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(RunError, match="not a phasefit run"):
        RunFolder(tmp_path / "other", overwrite=True)
    assert (tmp_path / "run" / "phasefit.json").is_file()


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    start(tmp_path / "run").finish({})
    assert (tmp_path / "run" / "phasefit.json").is_file()


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError):
        RunFolder(tmp_path / "file" / "run")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {"a": object()})
    assert read_json(tmp_path / "a.json") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_without_a_manifest_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a phasefit model"):
        read_manifest(tmp_path)
