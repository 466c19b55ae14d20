"""One fold as the test set, and the rows of selected classes, before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from phasefit.errors import DataError
from phasefit.runs.saved_specification import spec_from_json, spec_to_json
from specs import prepare, run_spec


@pytest.fixture
def table(tmp_path: Path) -> str:
    names = ["red"] * 30 + ["green"] * 20 + ["blue"] * 10
    frame = pd.DataFrame({"text": [f"text number {row}" for row in range(60)], "label": names})
    path = tmp_path / "colours.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_the_folds_of_a_seed_make_the_whole_table(table: str) -> None:
    tests = []
    for fold in range(1, 6):
        prepared = prepare(run_spec(table, fold=(fold, 5), seed=3))
        assert prepared.test is not None
        assert prepared.validation is not None
        held = {*prepared.test.texts}
        assert not held & {*prepared.train.texts}
        assert not held & {*prepared.validation.texts}
        assert len(held) + len(prepared.train) + len(prepared.validation) == 60
        tests += list(prepared.test.texts)
    assert len(tests) == len({*tests}) == 60


def test_existing_splits_are_ignored_with_a_note(tmp_path: Path, table: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    frame = pd.read_csv(table)
    frame.to_csv(folder / "train.csv", index=False)
    frame.assign(text="a test " + frame["text"]).to_csv(folder / "test.csv", index=False)
    prepared = prepare(run_spec(str(folder), fold=(1, 4)))
    assert prepared.test is not None
    assert not any(text.startswith("a test") for text in prepared.test.texts)
    assert any("fold 1 of 4" in note for note in prepared.notes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fold": (6, 5)}, "no fold 6 of 5"),
        ({"fold": (0, 5)}, "no fold 0 of 5"),
        ({"classes": ("red", "gren")}, "did you mean 'green'"),
        ({"classes": ("red",)}, "at least two classes"),
        ({"top_classes": 9}, "has only 3 classes"),
        ({"top_classes": 2, "classes": ("red", "blue")}, "cannot be combined"),
    ],
)
def test_impossible_selections_are_refused(table: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        prepare(run_spec(table, **changes))  # type: ignore[arg-type]


def test_only_the_selected_classes_are_used(table: str) -> None:
    prepared = prepare(run_spec(table, classes=("blue", "red")))
    assert prepared.space.names == ["blue", "red"]
    assert sum(len(part) for part in (prepared.train, prepared.validation, prepared.test) if part is not None) == 40


def test_the_most_frequent_classes_are_used(table: str) -> None:
    assert prepare(run_spec(table, top_classes=2)).space.names == ["green", "red"]


def test_a_specification_with_a_fold_is_read_back_unchanged(table: str) -> None:
    request = run_spec(table, fold=(2, 5), classes=("red", "blue"), report=False)
    back = spec_from_json(spec_to_json(request), Path("somewhere"))
    assert (back.split.fold, back.split.classes, back.output.report) == ((2, 5), ("red", "blue"), False)
