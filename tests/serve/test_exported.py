"""Exported folders through the server: the same answers as offline, exact token counts, and no torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphs import task, write_folder
from phasefit.process_memory import VARIABLE
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, load_predictor
from phasefit.serve.service import Service
from served import post

TEXTS = ["red cat", "blue dog", "good one"]
SIZES = Limits(batch_tokens=4096)


def served(folder: Path) -> Service:
    return Service(Models({"exported": folder}, load_predictor, SIZES), SIZES)


def test_classes_embeddings_and_tokens(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "exported", {"default": task()})
    model: Any = load_predictor(folder)
    content = post(served(folder), "/v1/classify", {"input": TEXTS}).json()
    assert [row["label"] for row in content["data"]] == [str(label) for label in model.predict(TEXTS)]
    assert content["usage"]["prompt_tokens"] == sum(model.runtime.token_counts(TEXTS))
    vectors = post(served(folder), "/embed", {"inputs": TEXTS, "normalize": False}).json()
    np.testing.assert_allclose(vectors, model.embed(TEXTS), atol=1e-5)


def test_several_tasks_and_pairs(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "exported", {"one": task(), "same": task(pair="uv")})
    model = load_predictor(folder)
    rows = post(served(folder), "/predict", {"model": "exported/same", "inputs": [TEXTS[:2]]}).json()
    assert rows[0][0]["score"] == pytest.approx(model.predict_proba([("red cat", "blue dog")], task="same").max())


def test_an_encoder_without_a_classifier_only_embeds(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "exported", {})
    assert len(post(served(folder), "/", {"inputs": TEXTS}).json()) == len(TEXTS)
    assert "has no classifier" in post(served(folder), "/predict", {"inputs": "a"}).json()["error"]


def test_the_code_that_torch_compiles_for_each_shape_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    folder = write_folder(tmp_path / "exported", {"default": task()})
    load_predictor(folder)
    assert os.environ[VARIABLE] == "32"
    monkeypatch.setenv(VARIABLE, "7")
    load_predictor(folder)
    assert os.environ[VARIABLE] == "7", "the operator decides"


def test_it_imports_no_torch(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "exported", {"default": task()})
    code = f"""
import sys
from pathlib import Path
from phasefit.serve.app import make_app
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, load_predictor
from phasefit.serve.service import Service
service = Service(Models({{"a": Path({str(folder)!r})}}, load_predictor, Limits()), Limits())
make_app(service)
service.models.all[0].engine.prepare(["red cat"], "default").compute(__import__("numpy").arange(1))
assert not sys.modules.keys() & {{"torch", "transformers"}}, "imported"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
