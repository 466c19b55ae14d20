"""Files outside the current folder that someone else's file names are shown before they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.recipes import parse_recipe
from phasefit.runs.outside import outside_notes
from phasefit.runs.specification import run_spec

RECIPE = '[[phase]]\nkind = "contrast"\nclass_texts = "{path}"\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def recipe(path: Path):
    return parse_recipe(RECIPE.format(path=path.as_posix()), name="theirs", where="theirs.toml")


def test_the_files_of_a_recipe(here: Path, tmp_path: Path) -> None:
    inside, outside = here / "names.csv", tmp_path / "names.csv"
    for path in (inside, outside):
        path.write_text("label,text\na,b\n")
    spec = run_spec("data.csv")
    assert outside_notes(spec, recipe(inside)) == []
    expected = f"reading {outside}, which is outside the current folder (named in the recipe 'theirs')"
    assert outside_notes(spec, recipe(outside)) == [expected]
    (here / "link.csv").symlink_to(outside)
    assert outside_notes(spec, recipe(here / "link.csv")) == [expected], "a link that leads outside"


def test_the_tables_of_a_task_file(here: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("text,label\na,b\n")
    (here / "tasks.toml").write_text('[[task]]\nname = "a"\ndata = "../secret.csv"\n[[task]]\nname = "b"\ndata = "x"\n')
    (note,) = outside_notes(run_spec("tasks.toml"), recipe(here / "none.csv"))
    assert (
        note
        == f"reading {tmp_path / 'secret.csv'}, which is outside the current folder (named in the task file 'tasks')"
    )


def test_the_tables_and_the_model_of_a_resumed_run(here: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("text,label\na,b\n")
    (tmp_path / "model").mkdir()
    spec = run_spec(str(tmp_path / "secret.csv"), model=str(tmp_path / "model"), unlabelled="bad\0name")
    notes = outside_notes(spec, recipe(here / "none.csv"), Path("runs/theirs"))
    assert [note.split(",")[0] for note in notes] == [
        f"reading {tmp_path / 'secret.csv'}",
        f"reading {tmp_path / 'model'}",
    ]
    assert all("(named in the run 'runs/theirs')" in note for note in notes)
    assert outside_notes(spec, recipe(here / "none.csv")) == [], "typed by the user"
