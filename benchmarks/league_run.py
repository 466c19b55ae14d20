"""Run a cell of the league: one process, one thread, the rows in files; the result for the ledger."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from contest import write_rows
from contestants import ENVIRONMENTS, RIVALS
from few_shot import commit, default_model, own_environment
from few_shot_rows import Rows
from league_plan import Cell
from league_rows import fingerprint
from measuring import processor

from phasefit.metrics.calibration import bins_of, calibration_error
from phasefit.metrics.scores import log_loss

THREADS = 1
DIGITS = 6
SOURCES = Path(__file__).parents[1] / "src"


class CellError(Exception):
    """Why a cell has no result."""


def run(cell: Cell, train: Rows, scored: Rows, limit: float) -> dict[str, Any]:
    """Train and score a cell; a process that fails is a `CellError` with the last line that it printed."""
    contestant = cell.contestant
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "train.csv", train.texts, train.labels)
        write_rows(folder / "test.csv", scored.texts, scored.labels)
        command = [str(interpreter(contestant.script)), str(RIVALS / contestant.script / "fit.py"), "train.csv"]
        command += ["test.csv", "--out", "result.json", "--answers", "answers.json", "--model", default_model()]
        command += ["--seed", str(cell.draw), "--threads", str(THREADS)]
        command += ["--settings", json.dumps(dict(contestant.settings))]
        # phasefit is measured as it is in this checkout, wherever its interpreter has it installed.
        environment = own_environment(THREADS) | ({"PYTHONPATH": str(SOURCES)} if contestant.ours else {})
        options: dict[str, Any] = {"cwd": folder, "env": environment, "timeout": limit, "check": False}
        try:
            done = subprocess.run(command, capture_output=True, text=True, **options)
        except subprocess.TimeoutExpired:
            raise CellError(f"stopped after {limit:.0f} s") from None
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            raise CellError((lines or [f"exit code {done.returncode}"])[-1][:200])
        result, answers = (
            json.loads((folder / f"{one}.json").read_text(encoding="utf-8")) for one in ("result", "answers")
        )
    if contestant.ours:
        result["versions"] = result["versions"].replace("phasefit ", f"phasefit{commit()} ", 1)
    return entry(result, answers, train, scored)


def entry(result: Mapping[str, Any], answers: Mapping[str, Any], train: Rows, scored: Rows) -> dict[str, Any]:
    """The content of a cell's file in the ledger, from the two files that its process wrote."""
    return {
        "scores": {"accuracy": result["accuracy"], "macro_f1": result["macro_f1"], **calibration(answers)},
        "cpu_seconds": answers["cpu_seconds"],
        "seconds": {part: result[f"{part}_seconds"] for part in ("load", "fit", "predict")},
        "peak_mb": result["peak_mb"],
        "machine": processor(),
        "rows": {"train": len(train), "classes": len(set(train.labels)), "scored": len(scored)},
        "fingerprint": fingerprint(train, scored),
        "versions": result["versions"],
        "right": answers["right"],
    }


def calibration(answers: Mapping[str, Any]) -> dict[str, float | None]:
    """Log loss and expected calibration error; None for a contestant without probabilities."""
    if "true_probability" not in answers:
        return {"log_loss": None, "ece": None}
    of_true = np.asarray(answers["true_probability"], dtype=np.float32)  # clipped at its precision: at most 15.9
    pair = np.stack([of_true, 1 - of_true], axis=1)  # the true class and all others
    bins = bins_of(np.asarray(answers["confidence"]), np.asarray(answers["right"], dtype=bool))
    loss = log_loss(np.zeros(len(of_true), dtype=np.int64), pair)
    return {"log_loss": round(loss, DIGITS), "ece": round(calibration_error(bins), DIGITS)}


def interpreter(script: str) -> Path:
    """The rival's own interpreter; ours if the script is ours, or if our packages have exactly the pinned versions."""
    own = ENVIRONMENTS / script / "bin" / "python"
    if own.exists():
        return own
    requirements = RIVALS / script / "requirements.txt"
    if not requirements.exists() or has_versions(requirements.read_text(encoding="utf-8").splitlines()):
        return Path(sys.executable)
    raise CellError(f"not installed; run python3 benchmarks/rivals/install.py {script}")


def has_versions(requirements: Sequence[str]) -> bool:
    """Whether this environment has the pinned packages; builds such as +cpu do not matter."""
    pinned = [line.split("==") for line in requirements if "==" in line and not line.startswith("#")]
    try:
        return all(version(name).partition("+")[0] == wanted.strip() for name, wanted in pinned)
    except PackageNotFoundError:
        return False
