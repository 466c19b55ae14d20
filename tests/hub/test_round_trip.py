"""Push to a fake hub, and load from it: the same predictions, pinned revisions, and nothing that is not needed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import phasefit
from fake_hub import TOKEN, FakeHub
from phasefit.cli.app import app
from phasefit.errors import ModelError

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of huggingface_hub's uploads
TEXTS = ["the song of rain", "pizza dinner today", "a sunny forecast"]


def command(*args: str) -> Result:
    return CliRunner().invoke(app, list(args), prog_name="phasefit")


def push(run: Path, *options: str) -> str:
    """Push and return the commit."""
    done = command("push", str(run), "alice/reviews", "--json", "-q", *options)
    assert done.exit_code == 0, done.output
    return str(json.loads(done.stdout)["commit"])


def test_a_pushed_run_gives_the_same_predictions(hub: FakeHub, run: Path) -> None:
    commit = push(run)
    here, there = phasefit.load(run), phasefit.load("hub:alice/reviews")
    assert isinstance(there, phasefit.TextClassifier)
    np.testing.assert_array_equal(here.predict_proba(TEXTS), there.predict_proba(TEXTS))
    home = run.parent / "home" / "phasefit"
    folder = home / f"alice--reviews@{commit}"
    assert not [path for path in home.rglob("*") if path.is_symlink()]
    assert not (folder / ".cache").exists()
    verified = command("verify", "hub:alice/reviews")
    assert verified.exit_code == 0, verified.output
    assert "is intact" in verified.output
    before = len(hub.requests)
    pinned = phasefit.TextClassifier.load(f"hub:alice/reviews@{commit}")
    assert len(hub.requests) == before, "a commit that is here needs no network"
    assert list(pinned.predict(TEXTS)) == list(here.predict(TEXTS))


def test_commands_accept_the_name(hub: FakeHub, run: Path, tmp_path: Path) -> None:
    push(run)
    predicted = command("predict", "hub:alice/reviews", "--say", TEXTS[0])
    assert predicted.exit_code == 0, predicted.output
    table = tmp_path / "new.csv"
    table.write_text("text,label\nthe song of rain,music\npizza dinner today,food\n")
    embedded = command("embed", "hub:alice/reviews", str(table), "-o", str(tmp_path / "v.npy"))
    assert embedded.exit_code == 0, embedded.output
    assert np.load(tmp_path / "v.npy").shape == (2, 32)


def test_only_what_a_model_needs_is_pushed(hub: FakeHub, run: Path) -> None:
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "step.safetensors").write_bytes(b"x")
    (run / "predictions.csv").write_text("text,prediction\nsecret,a\n")
    (run / "confusion.png").write_bytes(b"a picture")
    (run / "passport.png").write_bytes(b"a picture of the user")
    assert (run / "report.html").is_file()
    assert (run / "phases").is_dir()
    push(run)
    repository = hub.repositories["alice/reviews"]
    names = set(repository.files)
    assert repository.private
    roots = {
        "README.md",
        "heads.safetensors",
        "labels.json",
        "recipe.toml",
        "metrics.json",
        "phasefit.json",
        "confusion.png",
    }
    shortcuts = {".gitattributes", "modules.json", "config_sentence_transformers.json"}
    assert {name for name in names if "/" not in name} == roots | shortcuts
    assert {name.split("/")[0] for name in names if "/" in name} == {"encoder"}
    everything = b"\n".join(repository.files.values())
    assert b"/home/alice" not in everything
    assert str(run.parent).encode() not in everything
    assert TOKEN.encode() not in everything
    push(run, "--overwrite", "--with-report")
    assert "report.html" in repository.files
    assert b"[report.html]" in repository.files["README.md"]


def test_folders_in_settings_are_not_pushed(hub: FakeHub, run: Path) -> None:
    recipe = (run / "recipe.toml").read_text() + 'words = "/home/alice/clients/words.txt"\nmore = ["~/clients/a.txt"]\n'
    (run / "recipe.toml").write_text(recipe)
    manifest = json.loads((run / "phasefit.json").read_text())
    manifest["settings"] = {"contrast.class_texts": "/home/alice/clients/texts.csv", "finetune.epochs": 2}
    manifest["files"]["recipe.toml"] = hashlib.sha256(recipe.encode()).hexdigest()
    (run / "phasefit.json").write_text(json.dumps(manifest))
    push(run)
    files = hub.repositories["alice/reviews"].files
    assert b"clients" not in b"\n".join(files.values())
    assert b'words = "words.txt"' in files["recipe.toml"]
    settings = json.loads(files["phasefit.json"])["settings"]
    assert settings == {"contrast.class_texts": "texts.csv", "finetune.epochs": 2}
    verified = command("verify", "hub:alice/reviews")
    assert verified.exit_code == 0, verified.output


def test_a_revision_is_pinned(hub: FakeHub, run: Path) -> None:
    first = push(run)
    labels = json.loads((run / "labels.json").read_text())
    manifest = json.loads((run / "phasefit.json").read_text())
    (run / "labels.json").write_text(json.dumps(labels, indent=1))  # other bytes, the same content
    from phasefit.files.integrity import hash_files

    (run / "phasefit.json").write_text(json.dumps(manifest | {"files": hash_files(run)}))
    second = push(run, "--overwrite", "--message", "Second")
    assert hub.repositories["alice/reviews"].messages[-1] == "Second"
    downloads = run.parent / "home" / "phasefit"
    phasefit.load(f"hub:alice/reviews@{first}")
    assert [path.name for path in downloads.iterdir() if path.is_dir()] == [f"alice--reviews@{first}"]
    phasefit.load("hub:alice/reviews")
    assert (downloads / f"alice--reviews@{second}" / "labels.json").read_bytes() == (run / "labels.json").read_bytes()
    with pytest.raises(ModelError, match="has no such branch, tag or commit"):
        phasefit.load("hub:alice/reviews@v9")


def test_a_second_push_removes_files_of_the_first(hub: FakeHub, run: Path) -> None:
    push(run)
    repository = hub.repositories["alice/reviews"]
    stale = {
        "encoder/old.safetensors": b"old",
        "heads-2.safetensors": b"old",
        "LICENSE": b"mine",
        "notes/a.md": b"mine",
    }
    repository.add({**repository.files, **stale}, "by hand")
    push(run, "--overwrite")
    assert {"LICENSE", "notes/a.md"} <= set(repository.files)
    assert not {"encoder/old.safetensors", "heads-2.safetensors"} & set(repository.files)
    phasefit.load("hub:alice/reviews")


def test_training_continues_from_the_hub(hub: FakeHub, run: Path, tmp_path: Path) -> None:
    from phasefit.runs.specification import run_spec

    commit = push(run)
    spec = run_spec("reviews.csv", model="hub:alice/reviews")
    assert spec.model == str(tmp_path / "home" / "phasefit" / f"alice--reviews@{commit}")
    assert spec.model_name == f"hub:alice/reviews@{commit}"


def test_offline_uses_what_was_downloaded(hub: FakeHub, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = push(run)
    phasefit.load("hub:alice/reviews")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    before = len(hub.requests)
    phasefit.load("hub:alice/reviews")
    phasefit.load(f"hub:alice/reviews@{commit}")
    assert len(hub.requests) == before
    with pytest.raises(ModelError, match="hub:alice/other is not on this machine and HF_HUB_OFFLINE is set"):
        phasefit.load("hub:alice/other")


def test_sentence_transformers_loads_the_repository(hub: FakeHub, run: Path) -> None:
    from sentence_transformers import SentenceTransformer

    push(run)
    plain = SentenceTransformer("alice/reviews", device="cpu")
    own = phasefit.TextEncoder.load(run)
    np.testing.assert_allclose(plain.encode(TEXTS), own.transform(TEXTS), atol=1e-6)


def test_train_pushes_a_finished_run(hub: FakeHub, tiny_folder: Path, tmp_path: Path) -> None:
    from tiny import make_table, write_csv

    table = write_csv(tmp_path / "t.csv", *make_table(60))
    quick = ("--recipe", "finetune", "--set", "finetune.max_steps=2", "--set", "finetune.min_steps=1", "--no-baselines")
    base = ("train", str(table), "-m", str(tiny_folder), *quick, "-q", "--push", "alice/new")
    done = command(*base, "-o", str(tmp_path / "one"))
    assert done.exit_code == 0, done.output
    assert "hub:alice/new" in done.output
    assert "phasefit.json" in hub.repositories["alice/new"].files
    again = command(*base, "-o", str(tmp_path / "two"))
    assert again.exit_code == 2
    assert "already holds files" in again.stderr
    assert not (tmp_path / "two").exists(), "checked before training"


def test_the_pictures_of_a_push_are_those_that_a_run_draws() -> None:
    from phasefit.hub.contents import PICTURES, is_ours
    from phasefit.report.pictures import OF_RUNS, OF_SCORES

    drawn = {picture.file for picture in (*OF_SCORES, *OF_RUNS)}
    assert set(PICTURES) == drawn | {name.replace(".png", ".svg") for name in drawn}
    assert is_ours("confusion.svg")
    assert not is_ours("logo.png")  # of the repository: a new push keeps it
