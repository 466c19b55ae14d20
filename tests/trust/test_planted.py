"""Run folders that a stranger prepared: links, foreign names and line breaks must not reach beyond the folder.

The folders are built here, because git stores links badly. Around each one lie files of the user, which are hashed
before and after; a command either succeeds or prints one sentence.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from phasefit.errors import Interrupted
from phasefit.events import Event, StepDone
from running import train
from specs import run_spec
from tiny import make_table, read_json, write_csv

SETTINGS = {"finetune.max_steps": 2, "finetune.evaluate_every": 1}
Plant = Callable[[Path], None]


def _interrupted(event: Event) -> None:
    if isinstance(event, StepDone) and event.step == 2:
        raise Interrupted


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """A finished run, an interrupted one, and their table, to be copied."""
    folder = tmp_path_factory.mktemp("intact")
    table = write_csv(folder / "table.csv", *make_table(40))
    options: dict[str, Any] = {"model": str(tiny_folder), "recipe": "finetune", "settings": SETTINGS, "report": False}
    train(run_spec(table, out=folder / "finished", **options), lambda _: None)
    with pytest.raises(Interrupted):
        train(run_spec(table, out=folder / "stopped", checkpoint_minutes=0, **options), _interrupted)
    return folder


@pytest.fixture
def place(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """home/work/run with files of the user around it, and a folder of someone else."""
    work = tmp_path / "home" / "work"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    (tmp_path / "home" / ".bashrc").write_text("alias ll='ls -l'\n")
    (work / "notes.part").write_text("mine\n")
    (work / "sibling").mkdir()
    (work / "sibling" / "phasefit.json").write_text('{"format": 1, "status": "finished"}')
    (work / "sibling" / "weights").write_text("precious")
    someone = tmp_path / "someone" / "000001"
    someone.mkdir(parents=True)
    (someone / "thesis.txt").write_text("four years")
    shutil.copytree(runs / "stopped", work / "run")
    return work


def change(run: Path, **entries: Any) -> None:
    """Change entries of the manifest."""
    manifest = read_json(run / "phasefit.json") | entries
    (run / "phasefit.json").write_text(json.dumps(manifest))


def link(name: str, target: str = "../../.bashrc") -> Plant:
    """A planted link in the run folder, or next to it if the name says so."""

    def plant(run: Path) -> None:
        if (run / name).is_dir():
            shutil.rmtree(run / name)
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(os.path.abspath(run / target))

    return plant


def replaces(*names: str) -> Plant:
    return lambda run: change(run, replaces=list(names))


def old_without_manifest(run: Path) -> None:
    (run.parent / "run.old").mkdir()
    (run.parent / "run.old" / "mine.txt").write_text("not a run")
    change(run, replaces=["run.old"])


def old_as_link(run: Path) -> None:
    (run.parent / "run.old").symlink_to(run.parent / "sibling")
    change(run, replaces=["run.old"])


def hard_linked_lock(run: Path) -> None:
    (run / ".lock").unlink(missing_ok=True)
    os.link(run.parent.parent / ".bashrc", run / ".lock")


def name_with_line_breaks(run: Path) -> None:
    change(run, recipe="x\nrm -rf ~\n#")


def planted_temporaries(run: Path) -> None:
    """The names that earlier versions wrote to, as links: nothing follows them, the folder is refused."""
    for name in ("recipe.toml.part", "metrics.json.part", "phasefit.json.part"):
        link(name)(run)


PLANTED: dict[str, Plant] = {
    "replaces the parent": replaces(".."),
    "replaces a sibling": replaces("sibling"),
    "replaces many": replaces("../..", "/", "", ".", "run", "run.old/../sibling", "sibling/../sibling"),
    "replaces a folder that is not a run": old_without_manifest,
    "replaces a link to a run": old_as_link,
    "checkpoints is a link": link("checkpoints", "../../../someone"),
    "recipe.toml.part is a link": link("recipe.toml.part"),
    "metrics.json.part is a link": link("metrics.json.part"),
    "recipe.toml is a link": link("recipe.toml"),
    "all temporaries are links": planted_temporaries,
    "the encoder is a link": link("encoder", "../../../someone"),
    "the lock is a link": link(".lock"),
    "the lock is a hard link": hard_linked_lock,
    "a recipe name with line breaks": name_with_line_breaks,
}
SAMPLE = {"replaces a sibling", "checkpoints is a link", "recipe.toml is a link", "the lock is a hard link"}
MOST_LONG = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.long) for name in PLANTED]
RESUME = ("train", "--resume", "run", "-q")
OVERWRITE = ("train", "{table}", "-m", "{tiny}", "-r", "finetune", "-s", "finetune.max_steps=1", "-q", "-o", "run")


def content(folder: Path, without: Path) -> dict[str, str]:
    """Every file and link below a folder, except in one of its folders; with the hash of what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path == without or without in path.parents:
            continue
        if path.is_symlink():
            found[str(path)] = f"link to {os.readlink(path)}"
        else:
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return found


def run_command(place: Path, words: tuple[str, ...], **names: Path) -> Result:
    """Run a command; whatever it does, the surroundings of the run are the same afterwards."""
    top = place.parent.parent
    before = content(top, place / "run")
    result = CliRunner().invoke(app, [word.format(**names) for word in words])
    assert content(top, place / "run") == before
    if result.exit_code:
        assert result.exit_code == 2, result.output
        lines = result.stderr.splitlines()
        assert all(line.startswith("warning: ") for line in lines[:-1]), lines
        assert lines[-1].startswith("phasefit: ")
        assert all(line.isprintable() for line in lines)
    return result


@pytest.mark.parametrize("name", PLANTED)
def test_resuming_touches_nothing_outside_the_run(place: Path, name: str) -> None:
    PLANTED[name](place / "run")
    result = run_command(place, RESUME)
    if name.startswith("replaces"):  # what is not its own is ignored, and the run is finished
        assert result.exit_code == 0, result.output
        assert read_json(place / "run" / "phasefit.json")["status"] == "finished"
    elif "link" in name:
        assert result.exit_code == 2


@pytest.mark.parametrize("name", MOST_LONG)
def test_overwriting_touches_nothing_outside_the_run(place: Path, name: str, runs: Path, tiny_folder: Path) -> None:
    PLANTED[name](place / "run")
    run_command(place, (*OVERWRITE, "--overwrite"), table=runs / "table.csv", tiny=tiny_folder)


@pytest.mark.parametrize("name", MOST_LONG)
def test_predicting_touches_nothing_but_its_output(place: Path, name: str, runs: Path) -> None:
    shutil.rmtree(place / "run")
    shutil.copytree(runs / "finished", place / "run")
    PLANTED[name](place / "run")
    own = content(place / "run", place / "nowhere")
    result = run_command(place, ("predict", "run", "{table}", "-o", "run/y.csv", "-q"), table=runs / "table.csv")
    (place / "run" / "y.csv").unlink(missing_ok=result.exit_code != 0)
    assert content(place / "run", place / "nowhere") == own


def test_a_planted_temporary_of_an_output_is_not_followed(place: Path, runs: Path) -> None:
    (place / "y.csv.part").symlink_to(place.parent / ".bashrc")
    before = content(place.parent.parent, place / "y.csv")
    result = CliRunner().invoke(app, ["predict", str(runs / "finished"), str(runs / "table.csv"), "-o", "y.csv", "-q"])
    assert result.exit_code == 0, result.output
    assert (place / "y.csv").read_text().startswith("text,label,prediction")
    assert content(place.parent.parent, place / "y.csv") == before


def test_an_output_that_is_a_link_is_replaced_not_followed(place: Path, runs: Path) -> None:
    (place / "y.csv").symlink_to(place.parent / ".bashrc")
    words = ["predict", str(runs / "finished"), str(runs / "table.csv"), "-o", "y.csv", "-q", "--overwrite"]
    before = content(place.parent.parent, place / "y.csv")
    CliRunner().invoke(app, words)
    assert content(place.parent.parent, place / "y.csv") == before


def test_a_recipe_name_with_line_breaks_stays_in_its_comment(place: Path) -> None:
    name_with_line_breaks(place / "run")
    run_command(place, RESUME)
    assert not any(line.startswith("rm ") for line in (place / "run" / "recipe.toml").read_text().splitlines())
