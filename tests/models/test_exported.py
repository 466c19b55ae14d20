"""Exported folders in place of runs: the same answers and columns, without torch; all else refuses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import phasefit
from graphs import KINDS, sign, task, write_folder
from phasefit.errors import DataError, MissingExtra, ModelError, PhasefitError, TextsCut
from phasefit.kinds import kind_of
from phasefit.models.exported import ExportedModel
from phasefit.runs.run import Run

TEXTS = ["red cat", "good dog one two", "blue", "red cat", "bad bad three unknown"]
DECISIONS = {"single": {"reject_below": 0.6}, "multi": {"thresholds": [0.2, 0.9, 0.5]}, "tree": {"reject_below": 0.5}}


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_folder(tmp_path / "exported", {"default": task("single", reject_below=0.6)})


@pytest.mark.parametrize("kind", KINDS)
def test_the_runtime_answers_like_the_kinds_of_phasefit(tmp_path, kind: str) -> None:
    folder = write_folder(tmp_path, {"default": task(kind, **DECISIONS.get(kind, {}))})
    model = ExportedModel.load(folder, threads=1)
    space, outputs = model.space, model.predict_outputs(TEXTS)
    answers = kind_of(space).answers(outputs, space, model.decision())
    assert answers == model.predict(TEXTS) == model.runtime.predict(TEXTS)
    assert [type(answer) for answer in answers] == [type(answer) for answer in model.runtime.predict(TEXTS)]
    assert space.names == model.runtime.task().labels.names
    assert model.head().classes == outputs.shape[1]


def test_errors_and_warnings_are_those_of_phasefit(folder: Path) -> None:
    model = ExportedModel.load(folder, threads=1)
    with pytest.raises(DataError, match="row 1 is a text pair"):
        model.predict([("a", "b")])
    with pytest.raises(ModelError, match="no task 'other'"):
        model.predict(TEXTS, task="other")
    with pytest.warns(TextsCut, match="longer than 8 tokens"):
        model.embed(["one two three " * 9])
    with pytest.raises(PhasefitError, match="runs on the CPU"):
        ExportedModel.load(folder, device="cuda")
    with pytest.raises(ModelError, match="can only predict and embed"):
        model.write(folder)
    (folder / "model.onnx").write_bytes(b"changed")
    with pytest.raises(ModelError, match="has changed since it was exported"):
        ExportedModel.load(folder)


def test_damaged_labels_are_refused(folder: Path) -> None:
    content = json.loads((folder / "export.json").read_text())
    content["tasks"]["default"]["decision"]["temperature"] = 0
    sign(folder, content)
    with pytest.raises(ModelError, match=r"export\.json is damaged .* export the run again"):
        Run.open_model(folder)


def test_a_missing_runtime_names_the_command(folder: Path, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "phasefit_runtime"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "phasefit_runtime", None)
    with pytest.raises(MissingExtra, match=r"phasefit-runtime; install it from a checkout of phasefit: pip install"):
        Run.open_model(folder)


def test_load_returns_the_estimator_of_the_kind(tmp_path) -> None:
    wanted = {"single": phasefit.TextClassifier, "number": phasefit.TextRegressor}
    for kind, estimator in wanted.items():
        loaded = phasefit.load(write_folder(tmp_path / kind, {"default": task(kind)}))
        assert isinstance(loaded, estimator)
        assert len(loaded.predict(TEXTS)) == len(TEXTS)
        assert loaded.transform(TEXTS).shape == (len(TEXTS), 8)
    several = phasefit.load(write_folder(tmp_path / "several", {"one": task(), "two": task("multi")}))
    assert isinstance(several, phasefit.TextTasks)
    encoder = phasefit.load(write_folder(tmp_path / "encoder", {}))
    assert isinstance(encoder, phasefit.TextEncoder)
    assert phasefit.TextEncoder.load(tmp_path / "encoder").transform(TEXTS).shape == (len(TEXTS), 8)
    with pytest.raises(ModelError, match="can only predict and embed"):
        encoder.save(tmp_path / "saved")


SCRIPT = """
import sys
from pathlib import Path
folder, table, out = sys.argv[1:]
from phasefit.cli import main
def run(*arguments):
    sys.argv = ["phasefit", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
run("predict", folder, table, "-o", out + "/p.csv")
run("predict", folder, "--say", "red cat", "--threads", "1")
run("embed", folder, table, "-o", out + "/e.npy")
import phasefit
phasefit.load(folder).predict(["red cat"])
heavy = {"torch", "transformers", "sentence_transformers", "accelerate"} & sys.modules.keys()
assert not heavy, heavy
"""


def test_predict_embed_and_load_import_no_torch(folder: Path, tmp_path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,text\n" + "".join(f"{row},{text}\n" for row, text in enumerate(TEXTS)))
    command = [sys.executable, "-c", SCRIPT, str(folder), str(table), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "id,text,prediction,probability,probability_a,probability_b,probability_c"
    model = ExportedModel.load(folder)
    outputs = model.predict_outputs(TEXTS)
    for line, row, answer in zip(lines[1:], outputs, model.predict(TEXTS), strict=True):
        cells = line.split(",")
        assert cells[2] == (answer or "")
        np.testing.assert_allclose(list(map(float, cells[3:])), [row.max(), *row], rtol=1e-5)
    assert "withheld (empty, with probabilities)" in done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), model.embed(TEXTS))
