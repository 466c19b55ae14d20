"""The same folder for OpenVINO, in float32 and calibrated int8."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporting import add_task, one_task, table_of, write_export
from phasefit.export import folder as files
from phasefit.export import openvino_library
from phasefit.export.batches import calibration_batches
from phasefit.export.checks import compare
from phasefit.export.run_export import ExportOptions, export_run
from phasefit.models.exported import ExportedModel
from phasefit.runs.results import save_model
from phasefit.runs.run import Run
from phasefit_runtime import load
from tiny import fresh_model, make_table, write_csv

pytestmark = pytest.mark.long  # importing NNCF takes seconds


@pytest.mark.parametrize("int8", [False, True])
def test_openvino(
    tmp_path: Path, tiny_encoder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, int8: bool, capfd: Any
) -> None:
    model = one_task(tiny_encoder())
    save_model(model, tmp_path / "run")
    data = write_csv(tmp_path / "texts.csv", *make_table(90))
    calibrated: list[int] = []
    original = openvino_library._quantised
    monkeypatch.setattr(
        openvino_library, "_quantised", lambda one, rows: calibrated.append(len(rows)) or original(one, rows)
    )
    options = ExportOptions(tmp_path / "out", "openvino", int8, str(data), force=int8)
    result = export_run(Run.open(tmp_path / "run"), options, lambda event: None, clock=iter(range(10**6)).__next__)
    assert calibrated == ([30] if int8 else [])
    assert result.figures.tasks["default"].equal_share > 0.9
    manifest = json.loads((tmp_path / "out/export.json").read_text())
    assert manifest["engine"] == "openvino"
    assert {"model.xml", "model.bin"} <= set(manifest["files"])
    assert load(tmp_path / "out").predict(["the song"])
    assert "Statistics" not in capfd.readouterr().out


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("long", ["truncate", "windows"])
def test_pairs_and_windows(tmp_path: Path, tiny_encoder: Callable[..., Path], long: Any, int8: bool) -> None:
    model = fresh_model(tiny_encoder())
    model.encoder.max_length = 24
    model.encoder.set_long(long)
    tables = {}
    for kind, pair in (("single", None), ("multi", "uv"), ("score", "together")):
        add_task(model, f"{kind}-{pair}", kind, pair)
        tables[f"{kind}-{pair}"] = table_of(kind, pair)
    folder = write_export(model.eval(), tmp_path / "out")
    batches = calibration_batches(model, tables) if int8 else []
    openvino_library.write_openvino(folder / "model.onnx", folder / "model.xml", batches)
    (folder / "model.onnx").unlink()
    facts = json.loads((folder / "export.json").read_text())
    files.write_manifest(folder, {**facts, "engine": "openvino"})
    figures = compare(model, ExportedModel.load(folder, threads=1), tables, "int8" if int8 else "fp32")
    if int8:
        assert figures.cosine > 0.98
    else:
        assert not figures.problems(), figures
