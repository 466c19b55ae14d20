"""A run is opened once, and reads the files of its folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from phasefit.cli.app import app
from phasefit.data.columns import Columns
from phasefit.data.equal_texts import same_text_hashes
from phasefit.errors import ModelError
from phasefit.files import atomic, manifest
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.run import Run
from phasefit.runs.train import train
from specs import run_spec
from tiny import make_table

STEPS = ("finetune.max_steps=2", "finetune.min_steps=1")


@pytest.fixture(scope="module")
def folder(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    texts, labels = make_table(60)
    lines = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
    (place / "some.csv").write_text("\n".join(["words,topic", *lines]), encoding="utf-8")
    data: dict[str, Any] = {"text": ("words",), "label": ("topic",)}
    spec = run_spec(str(place / "some.csv"), **data, recipe="finetune", settings=STEPS, model=str(tiny_folder))
    return train(spec.replace(out=place / "run"), lambda _: None).folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was read as text, by its name."""
    seen: Counter[str] = Counter()
    real = Path.read_text

    def counted(self: Path, *args: Any, **options: Any) -> str:
        seen[self.name] += 1
        return real(self, *args, **options)

    monkeypatch.setattr(Path, "read_text", counted)
    return seen


@pytest.mark.parametrize("command", ["predict", "evaluate", "embed"])
def test_a_command_reads_the_manifest_once(command: str, folder: Path, tmp_path: Path, reads: Counter[str]) -> None:
    out = {"predict": "out.csv", "evaluate": "scores", "embed": "out.npy"}[command]
    data = str(folder.parent / "some.csv")
    result = CliRunner().invoke(app, [command, str(folder), data, "-o", str(tmp_path / out)])
    assert result.exit_code == 0, result.output
    assert reads[manifest.MANIFEST] == 1


def test_the_count_sees_every_way_to_read_it(folder: Path, reads: Counter[str]) -> None:
    manifest.read_manifest(folder)
    atomic.read_json(folder / manifest.MANIFEST)
    assert reads[manifest.MANIFEST] == 2


def test_a_run_reads_the_files_of_its_folder(folder: Path) -> None:
    run = Run.open(folder)
    assert list(run.heads) == list(run.spaces)
    assert run.table().columns == Columns("words", ("topic",), ())
    assert run.table().labels["kind"] == "single"
    assert not run.takes_pairs()
    assert run.recipe is not None
    assert run.recipe.phase_names == ["finetune"]
    assert run.metrics["phases"][0]["steps"] == 2
    assert np.isin(run.trained_texts, same_text_hashes(make_table(60)[0])).all()
    assert run.model("cpu").space.names == next(iter(run.spaces.values())).names


def test_a_run_that_continues_from_it_knows_its_classes_and_columns(folder: Path) -> None:
    base = base_run(str(folder))
    assert base is not None
    assert base.space is not None
    assert base.columns == Columns("words", ("topic",), ())
    assert base.of_task("new").columns is None
    assert base.of_task(next(iter(base.tasks))).columns == base.columns


def test_a_plain_encoder_is_not_a_run(tiny_folder: Path) -> None:
    plain = Run.open_model(tiny_folder)
    assert plain.is_encoder
    assert (plain.heads, plain.base(), plain.recipe, plain.table().columns) == ({}, None, None, None)
    with pytest.raises(ModelError):
        Run.open(tiny_folder)
