"""The memory benchmark on a small table with a tiny encoder."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "memory.py"

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux only")


@pytest.fixture(scope="module")
def out(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files of the benchmark."""
    folder = tmp_path_factory.mktemp("memory")
    command = [sys.executable, SCRIPT, "--sizes", "200", "--pairs", "batch", "--steps", "2", "--words", "snips"]
    command += ["--model", tiny_folder, "--out", folder]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_stage_is_measured(out: Path) -> None:
    with (out / "memory.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    (line,) = lines
    assert line["what"] == "phasefit, in-batch pairs"
    stages = [int(line[f"{stage}_mb"]) for stage in ("read", "load", "tokenise", "build", "train")]
    assert int(line["peak_mb"]) == max(stages) > int(line["start_mb"]) > 0
    assert int(line["pairs"]) > 0
    assert abs(int(line["peak_mb"]) - int(line["table_mb"]) - int(line["tokens_mb"]) - int(line["rest_mb"])) <= 2


def test_the_summary_has_the_command_and_reports_what_is_missing(out: Path) -> None:
    text = (out / "memory.md").read_text(encoding="utf-8")
    assert "python benchmarks/memory.py --sizes 200" in text
    assert "SetFit was not measured" in text
