"""Checksums of model files: written at the end, compared on loading and by `phasefit verify`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import phasefit
from phasefit.cli.app import app
from phasefit.errors import ModelError, UnverifiedModel
from phasefit.files.integrity import compare_files, hash_files
from phasefit.files.manifest import FORMAT, read_manifest
from phasefit.models.storage import load_model
from phasefit.runs.run import Run
from running import train
from specs import run_spec
from tiny import make_table, read_json, without_checksums, write_csv

STEPS = ("finetune.max_steps=2", "finetune.min_steps=1")
COVERED = {"heads.safetensors", "labels.json", "recipe.toml", "metrics.json", "trained_on.safetensors"}


@pytest.fixture(scope="module")
def finished(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a kept phase."""
    work = tmp_path_factory.mktemp("run")
    table = write_csv(work / "table.csv", *make_table(48))
    spec = run_spec(str(table), out=work / "run", recipe="finetune", settings=STEPS, model=str(tiny_folder))
    folder: Path = train(spec.replace(keep_phases=True, device="cpu"), lambda _: None).folder
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def verify(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments], prog_name="phasefit")


def flip(path: Path) -> None:
    """Change one bit at the end of a file."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_manifest_has_the_hash_of_every_model_file(finished: Path) -> None:
    manifest = read_manifest(finished)
    assert manifest["format"] == FORMAT == 2
    files = manifest["files"]
    assert files == hash_files(finished)
    assert {name for name in files if "/" not in name} == COVERED
    folders = {path.relative_to(finished).as_posix() for path in (finished / "encoder").rglob("*") if path.is_file()}
    assert {name for name in files if name.startswith("encoder/")} == folders
    assert "phases/finetune/model.safetensors" in files
    assert set(compare_files(finished, manifest).values()) == {"intact"}


def test_every_damaged_file_is_named_on_loading(finished: Path, tmp_path: Path) -> None:
    names = [name for name in read_manifest(finished)["files"] if not name.startswith("phases/")]
    assert len(names) > 10
    for number, name in enumerate(names):
        copy = Path(shutil.copytree(finished, tmp_path / str(number)))
        flip(copy / name)
        with pytest.raises(ModelError, match="is damaged") as caught:
            load_model(copy)
        assert f"'{name}' has changed since it was written" in str(caught.value)
        if "/" not in name:
            with pytest.raises(ModelError, match="is damaged"):
                Run.open(copy)


@pytest.mark.parametrize("name", ["encoder/tokenizer.json", "encoder/model.safetensors", "heads.safetensors"])
def test_a_missing_file_is_named(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(ModelError, match=f"'{name}' is missing"):
        load_model(run)


@pytest.mark.parametrize("name", ["encoder/pytorch_model.bin", "encoder/2_Normalize/a.json", "encoder/x/y"])
def test_an_added_file_is_named(run: Path, name: str) -> None:
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text("x")
    with pytest.raises(ModelError, match=f"'{name}' does not belong to it"):
        load_model(run)


def test_what_predictions_do_not_need_may_be_removed_and_the_rest_edited(run: Path) -> None:
    for name in ("recipe.toml", "metrics.json", "trained_on.safetensors", "history.json", "data.json"):
        (run / name).unlink()
    shutil.rmtree(run / "phases")
    (run / "README.md").write_text("my notes")
    (run / "notes.txt").write_text("more notes")
    (run / "encoder" / ".DS_Store").write_bytes(b"x")
    model = phasefit.load(run, device="cpu")
    assert set(model.predict(["play a song"])) <= set(model.classes_)


def test_a_damaged_phase_is_named(run: Path) -> None:
    assert Run.open(run).kept_phase("finetune") == run / "phases" / "finetune"
    flip(run / "phases" / "finetune" / "model.safetensors")
    with pytest.raises(ModelError, match=r"'phases/finetune/model\.safetensors' has changed"):
        Run.open(run).kept_phase("finetune")
    assert Run.open(run).kept_phase("../encoder") is None


@pytest.mark.parametrize(
    "files",
    [
        None,
        [],
        {"labels.json": 3},
        {"labels.json": "abc"},
        {"/etc/passwd": "0" * 64},
        {"../x": "0" * 64},
        {"encoder/../../x": "0" * 64},
        {"encoder/": "0" * 64},
        {"report.html": "0" * 64},
    ],
)
def test_damaged_checksums(run: Path, files: object) -> None:
    manifest = read_json(run / "phasefit.json")
    (run / "phasefit.json").write_text(json.dumps(manifest | {"files": files}))
    with pytest.raises(ModelError, match="the checksums in its manifest are damaged"):
        load_model(run)
    assert verify(str(run)).exit_code == 2


def test_format_1_is_loaded_and_reported_as_unverified(run: Path) -> None:
    without_checksums(run)
    with pytest.warns(UnverifiedModel, match="is unverified: an earlier version wrote it without checksums") as caught:
        phasefit.load(run, device="cpu")
    assert len(caught) == 1


@pytest.mark.filterwarnings("default::phasefit.errors.UnverifiedModel")
def test_the_command_line_prints_that_once(run: Path) -> None:
    result = CliRunner().invoke(app, ["predict", str(without_checksums(run)), "--say", "play a song", "--quiet"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("phasefit: warning: the model in") == 1


def test_a_resumed_run_of_format_1_gets_checksums(run: Path) -> None:
    from phasefit.runs.folder import RunFolder

    without_checksums(run)
    folder = RunFolder.reopen(run)
    assert folder.finish({})["files"] == hash_files(run)
    assert read_manifest(run)["format"] == FORMAT


# --- phasefit verify --------------------------------------------------------------------------------------------------


def test_verify_an_intact_run(run: Path) -> None:
    result = verify(str(run))
    assert result.exit_code == 0, result.output
    assert "intact   encoder/model.safetensors" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(f"{run} is intact: ")
    quiet = verify(str(run), "--quiet")
    assert quiet.exit_code == 0
    assert len(quiet.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "damage", "state"),
    [
        ("encoder/model.safetensors", flip, "damaged"),
        ("phases/finetune/config.json", flip, "damaged"),
        ("metrics.json", flip, "damaged"),
        ("labels.json", Path.unlink, "missing"),
        ("trained_on.safetensors", Path.unlink, "missing"),
        ("encoder/evil.py", Path.touch, "foreign"),
        ("encoder/evil\x1b[2J.py", Path.touch, "foreign"),
    ],
)
def test_verify_a_damaged_run(run: Path, name: str, damage: Callable[[Path], object], state: str) -> None:
    damage(run / name)
    result = verify(str(run), "--json")
    assert result.exit_code == 2
    content = json.loads(result.stdout)
    assert content["status"] == "damaged"
    assert {file: one for file, one in content["files"].items() if one != "intact"} == {name: state}
    text = verify(str(run), "--quiet")
    assert text.exit_code == 2
    assert text.stdout.startswith(f"{state:<8} ")
    assert f"is damaged: {len(content['files']) - 1} intact, 1 {state}" in text.stdout
    assert "\x1b" not in text.stdout


def test_verify_other_folders(run: Path, tmp_path: Path, tiny_folder: Path) -> None:
    phasefit.load(run, device="cpu").save(tmp_path / "saved")
    assert verify(str(tmp_path / "saved")).exit_code == 0
    manifest = read_json(run / "phasefit.json")
    (run / "phasefit.json").write_text(json.dumps(manifest | {"status": "started"}))
    unfinished = verify(str(run))
    assert (unfinished.exit_code, "is not finished and has no checksums yet" in unfinished.stdout) == (2, True)
    (run / "phasefit.json").write_text(json.dumps(manifest))
    old = verify(str(without_checksums(run)), "--json")
    assert (old.exit_code, json.loads(old.stdout)["status"]) == (2, "unverified")
    assert "is not a phasefit model" in verify(str(tiny_folder)).stderr
    assert "there is no run" in verify(str(tmp_path / "gone")).stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on this system")
def test_verify_does_not_block_at_pipes_or_follow_links(run: Path) -> None:
    (run / "encoder" / "link").symlink_to("/dev/zero")
    assert "contains a symbolic link" in verify(str(run)).stderr
    (run / "encoder" / "link").unlink()
    (run / "labels.json").unlink()
    os.mkfifo(run / "labels.json")
    assert "neither a file nor a folder" in verify(str(run)).stderr


def test_verify_imports_no_torch(run: Path) -> None:
    code = (
        "import sys; from phasefit.cli.app import app; app(['verify', sys.argv[1]], standalone_mode=False); "
        "assert not {'torch', 'pandas', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
