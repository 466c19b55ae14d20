"""Export runs: what is written, what is refused, and that nothing is left after a failure."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

from exporting import add_task, one_task, table_of
from phasefit.cli.app import app
from phasefit.errors import DataError, Interrupted, MissingExtra, ModelError, RunError
from phasefit.export import checks, run_export
from phasefit.export.run_export import ExportOptions, export_run
from phasefit.models.model import Model
from phasefit.runs.results import save_model
from phasefit.runs.run import Run
from phasefit_runtime import load
from running import train
from specs import run_spec
from tiny import fresh_model, make_table, write_csv

FAST = {"finetune.epochs": 1, "finetune.batch_size": 8}


class FakeClock:
    """CPU seconds: torch takes `ratio` seconds in its turn, the export one."""

    def __init__(self, ratio: float) -> None:
        self.now, self.steps, self.calls = 0.0, (0.0, ratio, 0.0, 1.0), 0

    def __call__(self) -> float:
        self.now += self.steps[self.calls % 4]
        self.calls += 1
        return self.now


def silent(event: Any) -> None:
    """A listener that ignores everything."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable[..., Path]) -> Path:
    """A trained run of a table on disk."""
    place = tmp_path_factory.mktemp("trained")
    texts, labels = make_table(150)
    data = write_csv(place / "data.csv", texts, labels)
    spec = run_spec(str(data), recipe="finetune", settings=FAST, model=str(tiny_encoder()), out=place / "run")
    train(spec.replace(report=False, baselines=False), silent)
    return place


@pytest.fixture
def run(trained: Path) -> Run:
    return Run.open(trained / "run")


@pytest.fixture
def saved(tmp_path: Path, tiny_encoder: Callable[..., Path]) -> Callable[[Model], Run]:
    """Save a model as a run that does not name its table."""

    def save(model: Model) -> Run:
        save_model(model, tmp_path / "saved")
        return Run.open(tmp_path / "saved")

    return save


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, ["export", *args], prog_name="phasefit")


def test_the_rows_of_the_run_are_read_again(run: Run, tmp_path: Path) -> None:
    assert run.manifest["request"].keys() == {"data", "recipe", "model"}
    stages: list[Any] = []
    result = export_run(run, ExportOptions(tmp_path / "out"), stages.append, clock=FakeClock(2.0))
    manifest = json.loads((tmp_path / "out/export.json").read_text())
    assert manifest["format"] == 1
    assert (manifest["engine"], manifest["precision"], manifest["run"]) == ("onnx", "fp32", "run")
    assert set(manifest["files"]) == {"model.onnx", "tokenizer.json", "README.md"}
    assert manifest["checks"]["forced"] is False
    assert manifest["checks"]["speed"] == {"1": 2.0, "32": 2.0}
    assert manifest["checks"]["tasks"]["default"]["labelled"] == result.figures.tasks["default"].rows > 40
    assert "comparing with torch" in " ".join(getattr(stage, "name", "") for stage in stages)
    texts, _ = make_table(10, seed=3)
    assert load(tmp_path / "out").predict(texts) == run.model("cpu").predict(texts)
    assert not [path for path in tmp_path.iterdir() if path.name != "out"]


def test_texts_are_written_only_on_request(run: Run, tmp_path: Path) -> None:
    export_run(run, ExportOptions(tmp_path / "out", with_texts=True), silent, clock=FakeClock(2.0))
    rows = [json.loads(line) for line in (tmp_path / "out/texts.jsonl").read_text().splitlines()]
    vectors = np.load(tmp_path / "out/texts.npy")
    assert len(rows) == len(vectors) == 105
    assert vectors.dtype == np.float16
    assert rows[0].keys() == {"text", "label"}
    expected = run.model("cpu").embed([row["text"] for row in rows[:5]])
    np.testing.assert_allclose(vectors[:5], expected, atol=1e-3)
    load(tmp_path / "out").read_file("texts.npy")


def test_int8_must_be_faster(run: Run, tmp_path: Path) -> None:
    options = ExportOptions(tmp_path / "out", int8=True)
    with pytest.raises(ModelError, match=r"the int8 export is refused: .*batch size 1 it is only 1\.20 times") as error:
        export_run(run, options, silent, clock=FakeClock(1.2))
    assert "export without --int8, or use --force" in str(error.value)
    assert not list(tmp_path.iterdir())
    notes: list[Any] = []
    result = export_run(run, replace(options, force=True), notes.append, clock=FakeClock(1.2))
    assert result.forced
    assert json.loads((tmp_path / "out/export.json").read_text())["checks"]["forced"] is True
    assert "--force" in (tmp_path / "out/README.md").read_text()
    assert any("although at batch size 1" in getattr(note, "text", "") for note in notes)


def test_int8_that_loses_too_much_tries_a_more_exact_variant(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def compare(model: Any, exported: Any, *rest: Any) -> Any:
        figures = original(model, exported, *rest)
        seen.append((exported.runtime.folder / "model.onnx").stat().st_size)
        task = replace(figures.tasks["default"], equal=0 if len(seen) == 1 else figures.tasks["default"].rows)
        return replace(figures, tasks={"default": task})

    original = checks.compare
    monkeypatch.setattr(checks, "compare", compare)
    result = export_run(run, ExportOptions(tmp_path / "out", int8=True), silent, clock=FakeClock(3.0))
    assert len(seen) == 2
    assert seen[1] > seen[0]
    assert result.figures.variant == run_export.FEED_FORWARD
    assert result.figures.size == seen[1] < (tmp_path / "out/model.onnx").stat().st_size + 1


@pytest.mark.long
def test_all_variants_are_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(*args: Any) -> Any:
        figures = original(*args)
        return replace(figures, tasks={"default": replace(figures.tasks["default"], equal=0, ties=0)})

    original = checks.compare
    monkeypatch.setattr(checks, "compare", compare)
    with pytest.raises(ModelError, match=r"only 0\.0 % of the .*; with the last product of each .* in float32, only"):
        export_run(run, ExportOptions(tmp_path / "out", int8=True), silent, clock=FakeClock(3.0))
    assert not list(tmp_path.iterdir())


def test_a_graph_that_differs_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phasefit.export.graph import Graph

    original = Graph.example

    def changed(graph: Graph) -> Any:
        with_bias = graph.heads[0].output.bias
        with_bias.data += 0.5 * torch.arange(len(with_bias))  # the graph is traced, then the model is restored
        return original(graph)

    model = run.model("cpu")
    monkeypatch.setattr(Graph, "example", changed)
    monkeypatch.setattr(Run, "model", lambda self, device: _restoring(model))
    with pytest.raises(ModelError, match="the fp32 export is refused: outputs differ from those of torch by 0"):
        export_run(run, ExportOptions(tmp_path / "out"), silent, clock=FakeClock(3.0))
    assert not list(tmp_path.iterdir())


def _restoring(model: Model) -> Model:
    """A model whose head is restored before it predicts."""
    bias = model.head().output.bias.detach().clone()
    predict = model.predict_outputs

    def restored(*args: Any, **options: Any) -> Any:
        model.head().output.bias.data.copy_(bias)
        return predict(*args, **options)

    object.__setattr__(model, "predict_outputs", restored)
    return model


def test_changed_and_missing_tables(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "copy"
    shutil.copytree(trained, place)
    manifest = json.loads((place / "run/phasefit.json").read_text())
    manifest["request"]["data"] = str(place / "data.csv")
    (place / "run/phasefit.json").write_text(json.dumps(manifest))
    run = Run.open(place / "run")
    with (place / "data.csv").open("a") as file:
        file.write("one more,music\n")
    with pytest.raises(DataError, match=r"has changed since it was trained; pass a table .* with --texts FILE"):
        export_run(run, ExportOptions(tmp_path / "out"), silent)
    (place / "data.csv").unlink()
    with pytest.raises(DataError, match=r"cannot be read again \(.*\); pass a table .* with --texts FILE"):
        export_run(run, ExportOptions(tmp_path / "out"), silent)
    assert not (tmp_path / "out").exists()


def test_a_damaged_request(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "run", tmp_path / "run")
    for request in ({"data": 3}, {"data": "x.csv", "rows": "many"}, {"data": "x.csv", "fold": [1]}):
        manifest = json.loads((trained / "run/phasefit.json").read_text()) | {"request": request}
        (tmp_path / "run/phasefit.json").write_text(json.dumps(manifest))
        with pytest.raises(DataError, match="--texts FILE"):
            export_run(Run.open(tmp_path / "run"), ExportOptions(tmp_path / "out"), silent)


@pytest.mark.parametrize("labelled", [True, False])
def test_rows_of_a_file(saved: Any, tmp_path: Path, tiny_encoder: Callable[..., Path], labelled: bool) -> None:
    run = saved(one_task(tiny_encoder()))
    with pytest.raises(DataError, match=r"does not state which table it was trained on; pass a table"):
        export_run(run, ExportOptions(tmp_path / "out"), silent)
    texts, labels = make_table(90)
    data = tmp_path / "texts.txt"
    data.write_text("\n".join(texts))
    if labelled:
        data = write_csv(tmp_path / "texts.csv", texts, labels)
    result = export_run(run, ExportOptions(tmp_path / "out", texts=str(data)), silent, clock=FakeClock(2.0))
    assert result.figures.tasks["default"].rows == 60, "a third is for calibration"
    assert result.figures.tasks["default"].labelled == (60 if labelled else 0)


def test_rows_of_pairs(saved: Any, tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    run, table = saved(one_task(tiny_encoder(), "score", "cosine")), table_of("score", "cosine", 60)
    rows = zip(table.texts, table.others[0], table.labels or (), strict=True)
    lines = ["text_a,text_b,label", *(f"{one},{two},{label}" for one, two, label in rows)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines))
    options = ExportOptions(tmp_path / "out", texts=str(tmp_path / "pairs.csv"))
    with pytest.raises(DataError, match="--with-texts writes single texts"):
        export_run(run, replace(options, with_texts=True), silent)
    result = export_run(run, options, silent, clock=FakeClock(2.0))
    assert result.figures.tasks["default"].metric == "pearson"


def test_several_tasks_need_a_task_file(saved: Any, tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    model = fresh_model(tiny_encoder())
    for name in ("a", "b"):
        add_task(model, name, "single")
    run = saved(model.eval())
    data = write_csv(tmp_path / "texts.csv", *make_table(90))
    with pytest.raises(DataError, match="has no table for the task 'b' of the run; pass a task file"):
        export_run(run, ExportOptions(tmp_path / "out", texts=str(data)), silent)
    file = tmp_path / "tasks.toml"
    file.write_text("".join(f'[[task]]\nname = "{name}"\ndata = "texts.csv"\n' for name in ("a", "b")))
    options = ExportOptions(tmp_path / "out", texts=str(file), with_texts=True)
    result = export_run(run, options, silent, clock=FakeClock(2.0))
    assert result.figures.tasks.keys() == {"a", "b"}
    assert json.loads((tmp_path / "out/texts.jsonl").read_text().splitlines()[0])["task"] == "a"


def test_an_encoder_is_exported_with_texts(tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    texts, _ = make_table(90)
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    options = ExportOptions(tmp_path / "out", texts=str(tmp_path / "texts.txt"))
    result = export_run(Run(str(tiny_encoder())), options, silent, clock=FakeClock(2.0))
    assert not result.figures.tasks
    assert load(tmp_path / "out").embed(texts[:3]).shape == (3, 32)


def test_too_few_rows(saved: Any, tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    data = write_csv(tmp_path / "few.csv", *make_table(12))
    with pytest.raises(DataError, match="has only 8 rows to check the export on; pass at least 20"):
        export_run(saved(one_task(tiny_encoder())), ExportOptions(tmp_path / "out", texts=str(data)), silent)


def test_only_exports_are_overwritten(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(mine)
    for name, problem in (
        ("mine", "not an exported model"),
        ("file", "a file or a link"),
        ("link", "a file or a link"),
    ):
        with pytest.raises(RunError, match=problem):
            export_run(run, ExportOptions(tmp_path / name, overwrite=True), silent)
    assert (mine / "thesis.txt").read_text() == "years of work"
    out = tmp_path / "out"
    out.mkdir()  # an empty folder is fine
    export_run(run, ExportOptions(out), silent, clock=FakeClock(2.0))
    before = (out / "export.json").read_bytes()
    with pytest.raises(RunError, match="exists already; give another folder with -o, or replace it with --overwrite"):
        export_run(run, ExportOptions(out), silent)
    with pytest.raises(ModelError, match="refused"):
        export_run(run, ExportOptions(out, int8=True, overwrite=True), silent, clock=FakeClock(1.0))
    assert (out / "export.json").read_bytes() == before, "a refused export changes nothing"
    (out / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"also holds 'notes\.txt', which is not part of the export"):
        export_run(run, ExportOptions(out, overwrite=True), silent)
    (out / "notes.txt").unlink()
    export_run(run, ExportOptions(out, int8=True, overwrite=True, force=True), silent, clock=FakeClock(2.0))
    assert json.loads((out / "export.json").read_text())["precision"] == "int8"
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "file", "link", "out"}


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_missing_libraries(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"install them with: pip install 'phasefit\[export\]'"):
        export_run(run, ExportOptions(tmp_path / "out"), silent)


@pytest.mark.parametrize("name", ["openvino", "nncf"])
def test_missing_openvino(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"pip install 'phasefit\[openvino\]'"):
        export_run(run, ExportOptions(tmp_path / "out", "openvino", int8=True), silent)


def test_a_model_without_an_encoder(tmp_path: Path) -> None:
    texts, labels = make_table(60)
    data = write_csv(tmp_path / "data.csv", texts, labels)
    spec = run_spec(str(data), recipe="tfidf", out=tmp_path / "run").replace(report=False, baselines=False)
    train(spec, silent)
    result = invoke(str(tmp_path / "run"), "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "has no encoder" in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_command(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(str(trained / "run"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "exports/run-onnx/export.json").is_file()
    for figure in ("largest difference", "equal decisions", "accuracy in torch", "speed at batch size 32", "size on"):
        assert figure in result.stdout
    assert "The export is in exports/run-onnx" in result.stdout
    assert "comparing with torch on" in result.stderr
    again = invoke(str(trained / "run"), "--quiet", "--json", "--overwrite")
    assert json.loads(again.stdout)["forced"] is False
    assert again.stderr == ""
    refused = invoke(str(trained / "run"))
    assert refused.exit_code == 2
    assert refused.stderr.startswith("phasefit: exports/run-onnx exists already")


def test_no_run(tmp_path: Path) -> None:
    result = invoke(str(tmp_path / "nothing"))
    assert result.exit_code == 2
    assert "there is no run" in result.stderr


def test_a_full_disk_leaves_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phasefit.files import system

    def fail(path: Path, fill: Any) -> None:
        if path.name == "export.json":
            raise OSError(28, "No space left on device")
        fill(path)

    monkeypatch.setattr(system, "write", fail)
    with pytest.raises(RunError, match=r"cannot be written to .*: No space left on device"):
        export_run(run, ExportOptions(tmp_path / "out"), silent, clock=FakeClock(2.0))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(checks, "compare", lambda *args: os.kill(os.getpid(), number))
    with pytest.raises(Interrupted):
        export_run(run, ExportOptions(tmp_path / "out"), silent, clock=FakeClock(2.0))
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


@pytest.mark.long
@pytest.mark.parametrize("stage", ["writing the graph", "comparing with torch", "writing"])
def test_a_killed_export_leaves_nothing_under_its_name(trained: Path, tmp_path: Path, stage: str) -> None:
    command = [sys.executable, "-m", "phasefit", "export", str(trained / "run"), "-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(stage):
            time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
            break
    process.communicate(timeout=60)
    out = tmp_path / "out"
    assert not out.exists() or load(out).tasks == ["default"], "complete or absent"


def test_int8_as_a_word_of_the_command_line(trained: Path, tmp_path: Path) -> None:
    """Forced, because the speed of a tiny model on a busy machine proves nothing."""
    out = tmp_path / "small"
    result = invoke(str(trained / "run"), "--int8", "--force", "-o", str(out))
    assert result.exit_code == 0, result.output
    assert json.loads((out / "export.json").read_text())["precision"] == "int8"
    assert load(out).predict(["a song"])
    assert f'phasefit predict {out} --say "your text"' in result.stdout
    assert "pip install ./runtime" in (out / "README.md").read_text(), "it is not on PyPI"
