"""What a cell leaves behind: result.json, and progress.jsonl with the validation scores of a running one. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from phasefit.data.sources import source_files
from phasefit.data.task_file import is_task_file, read_task_file
from phasefit.errors import ModelError
from phasefit.events import Scored
from phasefit.files.atomic import read_json
from phasefit.kinds import kind_of_metrics
from phasefit.metrics.registry import metric_at
from phasefit.runs.specification import RunSpec

Own: TypeAlias = bool | Mapping[str, bool]
RESULT, PROGRESS, RUN = "result.json", "progress.jsonl", "run"
LEFT_OUT = ("points", "calibration", "geometry")  # of metrics: for pictures, and large


@dataclass(frozen=True)
class Result:
    """The metrics of a cell and what they cost."""

    metrics: Mapping[str, Any]
    rows: Mapping[str, Any]  # by split; of several tasks by task and split
    own_test: Own  # whether the data bring a test; else it is cut from the rows that others train on
    seconds: float
    memory_mb: float
    command: str = ""
    own_validation: Own = False
    threads: int | None = None

    def overlap_on(self, split: str) -> float:
        """Scored rows per training row where repetitions share rows, as Nadeau and Bengio's correction needs it.

        Of several tasks the mean: what is told of them is a mean too.
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
    """The result in a cell's folder; None where there is none that can be read."""
    if not (folder / RESULT).is_file():
        return None
    try:
        content = read_json(folder / RESULT)
        names = ("metrics", "rows", "own_test", "seconds", "memory_mb", "command")
        own_validation, threads = content.get("own_validation", False), content.get("threads")
        return Result(**{name: content[name] for name in names}, own_validation=own_validation, threads=threads)
    except (ModelError, KeyError, TypeError):
        return None


def finished_result(folder: Path, *, with_model: bool) -> Result | None:
    """The same, if nothing of the cell is left to do: where its model is wanted, that must be there too."""
    return None if with_model and not (folder / RUN).is_dir() else read_result(folder)


def slim(metrics: Any) -> Any:
    """Metrics without what only pictures need."""
    if isinstance(metrics, Mapping):
        return {name: slim(value) for name, value in metrics.items() if name not in LEFT_OUT}
    return [slim(value) for value in metrics] if isinstance(metrics, list) else metrics


def has_own(spec: RunSpec, split: str) -> Own:
    """Whether a test (or validation) table was given, so that no repetition trains on another's; of tasks each."""
    if spec.split.fold is not None:
        return False
    if is_task_file(spec.data.source):
        tasks = read_task_file(spec.data.source).tasks
        return {task.name: _brings(task.data, getattr(task, split), split, spec) for task in tasks}
    return _brings(spec.data.source, getattr(spec.data, split), split, spec)


def _brings(data: Any, given: Any, split: str, spec: RunSpec) -> bool:
    return given is not None or split in source_files(str(data), spec.data.data_dir)


def figure(metrics: Mapping[str, Any], path: str) -> float | None:
    """The figure at a path such as test.levels.0.accuracy; None where there is none."""
    value: Any = metrics
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    if value is None and path.partition(".")[0] in metrics:
        return metric_at(path).undefined  # a constant prediction follows nothing
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def usual_score(result: Result, split: str = "test") -> str:
    """What a result is judged by where nobody says: accuracy, micro F1 of several labels, Pearson's of scores."""
    scored = result.metrics.get(split, {})
    if "tasks" in scored:
        return f"{split}.mean"
    return f"{split}.{kind_of_metrics(scored).judged}"


@dataclass(frozen=True)
class Evaluation:
    """The scores of a phase after so many epochs."""

    phase: str
    step: int
    epoch: float
    scores: dict[str, float]
    watch: str


def append_evaluation(path: Path, event: Scored) -> None:
    """Append one line to progress.jsonl."""
    content = {"phase": event.phase, "step": event.step, "epoch": event.epoch, "scores": event.scores}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content | {"watch": event.watch}) + "\n")


def read_evaluations(path: Path, phase: str) -> list[Evaluation]:
    """Those of a phase in order; one that was made twice, because the cell was stopped and resumed, counts once."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    read = (_evaluation(line) for line in lines)
    by_step = {one.step: one for one in read if one is not None and one.phase == phase}
    return [by_step[step] for step in sorted(by_step)]


def _evaluation(line: str) -> Evaluation | None:
    """A line that is being written is not whole yet."""
    try:
        content: dict[str, Any] = json.loads(line)
        return Evaluation(**content)
    except (ValueError, TypeError):
        return None
