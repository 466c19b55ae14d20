"""The same folder for OpenVINO, in float32 and calibrated int8."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporting import one_task
from phasefit.export import openvino_library
from phasefit.export.run_export import ExportOptions, export_run
from phasefit.runs.results import save_model
from phasefit.runs.run import Run
from phasefit_runtime import load
from tiny import make_table, write_csv

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
