"""Folders of studies: the same question resumes, another gets another folder, nothing is replaced unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.errors import RunError
from phasefit.files.atomic import read_json
from phasefit.studies.folder import StudyFolder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_same_question_keeps_its_folder_and_another_gets_a_new_one() -> None:
    first = StudyFolder.open("reviews", {"keys": ["a"]}, None)
    again = StudyFolder.open("reviews", {"keys": ["a"]}, None)
    other = StudyFolder.open("reviews", {"keys": ["b"]}, None)
    assert first.path == again.path == Path("studies/reviews")
    assert other.path == Path("studies/reviews-2")
    assert first.cache == other.cache == Path("studies/cells")  # what they share is computed once


def test_a_name_becomes_a_valid_folder_name() -> None:
    assert StudyFolder.open("../my data: 2", {}, None).path == Path("studies/my-data-2")
    assert StudyFolder.open("cells", {}, None).path == Path("studies/cells-study")


def test_a_given_folder_keeps_its_own_cells(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    assert StudyFolder.open("x", {"keys": []}, out).cache == out / "cells"


def test_other_files_are_not_replaced_unasked(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    StudyFolder.open("x", {"keys": ["a"]}, out)
    with pytest.raises(RunError, match="contains another study"):
        StudyFolder.open("x", {"keys": ["b"]}, out)
    StudyFolder.open("x", {"keys": ["b"]}, out, overwrite=True)
    assert read_json(out / "study.json")["keys"] == ["b"]
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "holiday.jpg").write_text("x")
    with pytest.raises(RunError, match="not a phasefit study"):
        StudyFolder.open("x", {}, tmp_path / "photos", overwrite=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="is a file"):
        StudyFolder.open("x", {}, tmp_path / "file")


def test_replacing_a_study_deletes_the_rows_of_another_question_only(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    rows = StudyFolder.open("x", {"keys": ["a"]}, out).path / "rows" / "train.parquet"
    rows.parent.mkdir()
    rows.write_text("the rows of a")
    StudyFolder.open("x", {"keys": ["a"]}, out, overwrite=True)
    assert rows.is_file()
    StudyFolder.open("x", {"keys": ["b"]}, out, overwrite=True)
    assert not rows.exists()


def test_the_error_names_the_option_for_the_folder(tmp_path: Path) -> None:
    StudyFolder.open("x", {"keys": ["a"]}, tmp_path / "mine")
    with pytest.raises(RunError, match="give another folder with --study, or replace it with --overwrite"):
        StudyFolder.open("x", {"keys": ["b"]}, tmp_path / "mine", option="--study")


def test_the_manifest_records_that_the_study_is_finished(tmp_path: Path) -> None:
    folder = StudyFolder.open("x", {"keys": ["a"]}, tmp_path / "mine")
    assert read_json(folder.path / "study.json")["status"] == "started"
    folder.finish({"command": "phasefit compare"})
    assert read_json(folder.path / "study.json")["status"] == "finished"
