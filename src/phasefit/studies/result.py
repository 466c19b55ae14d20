"""Files of a cell: result.json, and progress.jsonl with validation scores during training. Imports no torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field, field_validator

from phasefit.data.sources import source_files
from phasefit.data.task_file import is_task_file, read_task_file
from phasefit.errors import ModelError
from phasefit.events import Scored
from phasefit.files import system
from phasefit.files.atomic import discard_file, read_json
from phasefit.files.checked import Count, Document, Finite, Number, checked
from phasefit.files.integrity import FILES
from phasefit.files.manifest import read_manifest
from phasefit.kinds import kind_of_metrics
from phasefit.metrics.registry import metric_at
from phasefit.runs.specification import RunSpec

Own: TypeAlias = bool | Mapping[str, bool]
RESULT, PROGRESS, RUN, ERROR = "result.json", "progress.jsonl", "run", "error.txt"
MOST_EPOCHS = 1e6  # of a trial: one line is reported for each
LEFT_OUT = ("points", "calibration", "geometry")  # large metrics that only pictures need


class SavedResult(Document):
    """result.json."""

    metrics: dict[str, Any]
    rows: dict[str, Count | dict[str, Count | None] | None]
    own_test: bool | dict[str, bool]
    seconds: Finite
    memory_mb: Finite
    command: str
    own_validation: bool | dict[str, bool] = False
    threads: Count | None = None
    replicates: dict[str, list[Finite]] = Field(default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _splits(cls, metrics: dict[str, Any]) -> dict[str, Any]:
        for split in ("validation", "test"):
            if not isinstance(metrics.get(split, {}), dict):
                raise ValueError(f"{split} should be a table")
        phases = metrics.get("phases", [])
        if not isinstance(phases, list) or not all(isinstance(phase, dict) for phase in phases):
            raise ValueError("phases should be a list of tables")
        return metrics


@dataclass(frozen=True)
class Result:
    """The metrics of a cell and its time and memory."""

    metrics: Mapping[str, Any]
    rows: Mapping[str, Any]  # number of rows by split; with several tasks, by task and split
    own_test: Own  # whether there is a test table; otherwise other repetitions train on the test rows
    seconds: float
    memory_mb: float
    command: str = ""
    own_validation: Own = False
    threads: int | None = None
    replicates: Mapping[str, Any] = field(default_factory=dict)  # test scores without each group of rows, by metric

    @property
    def reverted(self) -> list[str]:
        """The phases whose training was discarded, because no evaluation was better than before their first step."""
        return [str(phase.get("name", "")) for phase in self.metrics.get("phases", ()) if phase.get("reverted")]

    def overlap_on(self, split: str) -> float:
        """Scored rows per training row if repetitions share rows, for Nadeau and Bengio's correction.

        With several tasks it is the mean over tasks, as is their score.
        """
        own = self.own_validation if split == "validation" else self.own_test
        if all(isinstance(one, Mapping) for one in self.rows.values()):
            each = {name: own.get(name, False) if isinstance(own, Mapping) else own for name in self.rows}
            return sum(_ratio(rows, split, each[name]) for name, rows in self.rows.items()) / max(len(self.rows), 1)
        return _ratio(self.rows, split, bool(own))


def _ratio(rows: Mapping[str, Any], split: str, own: bool) -> float:
    train, scored = rows.get("train"), rows.get(split)
    if own or not isinstance(train, int) or not isinstance(scored, int):
        return 0.0
    return scored / max(train, 1)


def read_result(folder: Path) -> Result | None:
    """The result in a cell's folder; None if it is missing or cannot be read."""
    if not (folder / RESULT).is_file():
        return None
    try:
        saved: SavedResult = checked(SavedResult, read_json(folder / RESULT))
    except ValueError:  # ModelError is one
        return None
    return Result(**{one.name: getattr(saved, one.name) for one in fields(Result)})


def finished_result(folder: Path, *, with_model: bool) -> Result | None:
    """The result of a finished cell; None if it is missing, or if the model is needed and missing."""
    result = None if with_model and not _has_model(folder / RUN) else read_result(folder)
    if result is not None and (folder / ERROR).is_file():  # the result was written, and then syncing its folder failed
        discard_file(folder / ERROR)
    return result


def _has_model(run: Path) -> bool:
    """Whether a finished run is there with all its files; a process may have been killed while it deleted them."""
    try:
        files = read_manifest(run).get(FILES, {})
    except ModelError:
        return False
    return all((run / name).is_file() for name in files)


def slim(metrics: Any) -> Any:
    """Metrics without those that only pictures need."""
    if isinstance(metrics, Mapping):
        return {name: slim(value) for name, value in metrics.items() if name not in LEFT_OUT}
    return [slim(value) for value in metrics] if isinstance(metrics, list) else metrics


def has_own(spec: RunSpec, split: str) -> Own:
    """Whether there is a test (or validation) table, so that no repetition trains on its rows; by task if several."""
    if spec.split.fold is not None:
        return False
    if is_task_file(spec.data.source):
        tasks = read_task_file(spec.data.source).tasks
        return {task.name: _brings(task.data, getattr(task, split), split, spec) for task in tasks}
    return _brings(spec.data.source, getattr(spec.data, split), split, spec)


def _brings(data: Any, given: Any, split: str, spec: RunSpec) -> bool:
    return given is not None or split in source_files(str(data), spec.data.data_dir)


def figure(metrics: Mapping[str, Any], path: str) -> float | None:
    """The value at a path such as test.levels.0.accuracy; None if it does not exist."""
    value: Any = metrics
    for part in path.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            return None
    return metric_at(path).undefined if value is None else _finite(value)  # correlation of a constant prediction


def _finite(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None  # false for NaN


def usual_score(result: Result, split: str = "test") -> str:
    """The default metric of a result: accuracy, micro F1 for multiple labels, Pearson for scores."""
    scored = result.metrics.get(split, {})
    if "tasks" in scored:
        return f"{split}.mean"
    return f"{split}.{kind_of_metrics(scored).judged}"


@dataclass(frozen=True)
class Evaluation:
    """The validation scores of a phase at one step."""

    phase: str
    step: int
    epoch: float
    scores: dict[str, float]
    watch: str


class SavedEvaluation(Document):
    """A line of progress.jsonl."""

    phase: str
    step: Count
    epoch: Annotated[float, Field(ge=0, le=MOST_EPOCHS)]
    scores: dict[str, Number | None]
    watch: str


def append_evaluation(path: Path, event: Scored) -> None:
    """Append one line to progress.jsonl."""
    content = {"phase": event.phase, "step": event.step, "epoch": event.epoch, "scores": event.scores}
    system.append(path, json.dumps(content | {"watch": event.watch}) + "\n")


def read_evaluations(path: Path, phase: str) -> list[Evaluation]:
    """The evaluations of a phase by step; of duplicates from a resumed cell the last one counts."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    read = (_evaluation(line) for line in lines)
    by_step = {one.step: one for one in read if one is not None and one.phase == phase}
    return [by_step[step] for step in sorted(by_step)]


def _evaluation(line: str) -> Evaluation | None:
    """The evaluation in a line; None for a partially written or damaged line."""
    try:
        saved: SavedEvaluation = checked(SavedEvaluation, json.loads(line))
    except (ValueError, RecursionError):
        return None
    return Evaluation(**{one.name: getattr(saved, one.name) for one in fields(Evaluation)})
