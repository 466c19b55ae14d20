"""What a cell leaves behind: result.json, read without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.data.sources import source_files
from phasefit.data.task_file import is_task_file
from phasefit.errors import ModelError
from phasefit.metrics.kinds import JUDGED
from phasefit.runner.request import TrainRequest
from phasefit.store.manifest import read_json

RESULT = "result.json"
LEFT_OUT = ("points", "calibration", "geometry")  # of metrics: for pictures, and large


@dataclass(frozen=True)
class Result:
    """The metrics of a cell and what they cost."""

    metrics: Mapping[str, Any]
    rows: Mapping[str, Any]
    own_test: bool  # whether the data bring a test; else it is cut from the rows that others train on
    seconds: float
    memory_mb: float
    command: str = ""

    @property
    def overlap(self) -> float:
        """Test rows per training row where repetitions share rows, as Nadeau and Bengio's correction needs it."""
        train, test = self.rows.get("train"), self.rows.get("test")
        if self.own_test or not isinstance(train, int) or not isinstance(test, int):
            return 0.0
        return test / max(train, 1)


def read_result(folder: Path) -> Result | None:
    """The result in a cell's folder; None where there is none that can be read."""
    if not (folder / RESULT).is_file():
        return None
    try:
        found = read_json(folder / RESULT)
        names = ("metrics", "rows", "own_test", "seconds", "memory_mb", "command")
        return Result(**{name: found[name] for name in names})
    except (ModelError, KeyError, TypeError):
        return None


def slim(metrics: Any) -> Any:
    """Metrics without what only pictures need."""
    if isinstance(metrics, Mapping):
        return {name: slim(value) for name, value in metrics.items() if name not in LEFT_OUT}
    return [slim(value) for value in metrics] if isinstance(metrics, list) else metrics


def has_own_test(request: TrainRequest) -> bool:
    """Whether a test table was given, so that no repetition trains on another's test rows."""
    if request.fold is not None:
        return False
    if request.test is not None or is_task_file(request.data):
        return True
    return "test" in source_files(str(request.data), request.data_dir)


def figure(metrics: Mapping[str, Any], path: str) -> float | None:
    """The figure at a path such as test.levels.0.accuracy; None where there is none."""
    found: Any = metrics
    for part in path.split("."):
        if isinstance(found, list):
            found = found[int(part)] if part.isdecimal() and int(part) < len(found) else None
        else:
            found = found.get(part) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def usual_score(result: Result, split: str = "test") -> str:
    """What a result is judged by where nobody says: accuracy, micro F1 of several labels, Pearson's of scores."""
    scored = result.metrics.get(split, {})
    if "tasks" in scored:
        return f"{split}.mean"
    for name in (JUDGED["single"], JUDGED["multi"], JUDGED["score"]):
        if name == "accuracy" and "micro_f1" in scored:
            continue  # of several labels: all of them right at once
        if name in scored:
            return f"{split}.{name}"
    return f"{split}.accuracy"
