"""Training texts in exported folders: the nearest are found without the data of the run, and damaged files refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import phasefit
from graphs import manifest, sign, task, write_folder
from phasefit.cli.app import app
from phasefit.errors import ModelError
from phasefit.explain.exported_texts import exported_texts
from phasefit.models.exported import ExportedModel
from phasefit.serve.explaining import read_training
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, load_predictor
from phasefit.serve.service import Service
from served import post

TEXTS = ["red cat", "blue dog", "good one"]


def write_texts(folder: Path, rows: list[dict[str, Any]], vectors: np.ndarray | None = None) -> None:
    """Add training texts, as `phasefit export --with-texts` does."""
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = load_predictor(folder).embed([row["text"] for row in rows]) if vectors is None else vectors
    np.save(folder / "texts.npy", own.astype(np.float16))
    sign(folder, manifest(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = write_folder(tmp_path / "exported", {"default": task()})
    write_texts(path, [{"text": text, "label": f"label {place}"} for place, text in enumerate(TEXTS)])
    return path


def test_the_command_the_estimator_and_the_server_find_them(folder: Path) -> None:
    result = CliRunner().invoke(app, ["explain", str(folder), "--say", "blue dog"])
    assert result.exit_code == 0, result.output
    shown = result.stdout.partition("nearest training texts")[2]
    assert shown.index("label 1") < shown.index("label 0")
    (found,) = phasefit.load(folder).nearest(["good one"], count=2)
    assert (found[0].text, found[0].label) == ("good one", "label 2")
    assert found[0].similarity == pytest.approx(1.0, abs=1e-3)
    service = Service(Models({"exported": folder}, load_predictor, Limits(), read_training), Limits())
    neighbours = post(service, "/explain", {"inputs": "red cat"}).json()["neighbours"]
    assert neighbours[0]["label"] == "label 0"


@pytest.mark.parametrize(
    ("kind", "label", "name"),
    [("multi", ["b", "a"], "a|b"), ("tree", ["a", "b"], "a/b"), ("number", 1.5, "1.5"), ("single", None, "")],
)
def test_labels_of_every_kind_are_shown_as_text(tmp_path: Path, kind: str, label: Any, name: str) -> None:
    path = write_folder(tmp_path / "exported", {"default": task(kind)})
    write_texts(path, [{"text": "red cat", "label": label}])
    training, vectors = exported_texts(ExportedModel.load(path), "default")
    assert training.labels == (name,)
    assert vectors.shape == (1, manifest(path)["dimension"])


def test_each_task_has_its_own(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "exported", {"one": task(), "two": task(), "three": task()})
    write_texts(path, [{"task": "one", "text": "red", "label": "a"}, {"task": "two", "text": "cat", "label": "b"}])
    model = ExportedModel.load(path)
    assert exported_texts(model, "two")[0].texts == ("cat",)
    with pytest.raises(ModelError, match="contains no training texts of the task 'three'"):
        exported_texts(model, "three")


def test_an_export_without_texts_names_the_option(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "exported", {"default": task()})
    result = CliRunner().invoke(app, ["explain", str(path), "--say", "blue dog"])
    assert result.exit_code == 0
    assert "contains no training texts; add them with: phasefit export RUN --with-texts" in " ".join(
        result.output.split()
    )


HUGE = "{'descr': '<f2', 'fortran_order': False, 'shape': (100000000000, 8), }"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("texts.jsonl", b"no json"),
        ("texts.jsonl", b"[1]\n[2]\n[3]\n"),
        ("texts.jsonl", b'{"text": 1}\n' * 3),
        ("texts.jsonl", b'{"text": "a", "label": {}}\n' * 3),
        ("texts.jsonl", b'{"text": "a", "label": [[]]}\n' * 3),
        ("texts.jsonl", b'{"text": "a"}\n'),
        ("texts.jsonl", b"[" * 100_000),
        ("texts.jsonl", b"\xff"),
        ("texts.npy", b""),
        ("texts.npy", b"no numbers"),
        ("texts.npy", b"\x93NUMPY\x01\x00" + len(HUGE).to_bytes(2, "little") + HUGE.encode()),
    ],
)
def test_damaged_files_are_refused(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    sign(folder, manifest(folder))
    with pytest.raises(ModelError, match=r"the training texts in .* are damaged; export the run again"):
        exported_texts(ExportedModel.load(folder), "default")


def test_vectors_of_another_shape_or_without_a_value_are_refused(folder: Path) -> None:
    size = manifest(folder)["dimension"]
    for vectors in (np.zeros((3, size + 1)), np.zeros((2, size)), np.full((3, size), np.nan)):
        np.save(folder / "texts.npy", vectors.astype(np.float16))
        sign(folder, manifest(folder))
        with pytest.raises(ModelError, match="are damaged"):
            exported_texts(ExportedModel.load(folder), "default")
    np.save(folder / "texts.npy", np.zeros((3, size)))
    sign(folder, manifest(folder))
    with pytest.raises(ModelError, match="are damaged"):
        exported_texts(ExportedModel.load(folder), "default")
