"""The differences between two results of `same_weights.py`: tensors bit for bit, JSON files without timings, outputs.

A result is a folder with a run folder (`run/`) and the outputs of commands (`outputs/`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from same_weights_cases import OUTPUTS, RUN, STEPS

Tensors: TypeAlias = dict[str, NDArray[Any]]

TENSORS = "*.safetensors"
METRICS = "metrics.json"
JSON_FILES = (METRICS, "history.json", "labels.json")
TIMINGS = ("seconds",)  # keys whose values differ from run to run
SHOWN = 5  # differences listed per file; the others are counted


@dataclass
class Comparison:
    """The differences between two results, as sentences."""

    tensors: int = 0  # compared
    largest: float = 0.0  # absolute difference of two weights
    weights: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @property
    def differences(self) -> list[str]:
        """All of them."""
        return self.weights + self.metrics + self.outputs


def compare(first: Path, second: Path) -> Comparison:
    """Compare two results."""
    comparison = Comparison()
    runs, outputs = (first / RUN, second / RUN), (first / OUTPUTS, second / OUTPUTS)
    for name in _common([_names(run, TENSORS) for run in runs], comparison.weights, "weights"):
        left, right = (load_file(run / name) for run in runs)
        _compare_tensors(name, left, right, comparison)
    for file in JSON_FILES:
        for name in _common([_names(run, file) for run in runs], comparison.metrics, file):
            one, other = (flatten(_read(run / name)) for run in runs)
            comparison.metrics += [f"{name}: {sentence}" for sentence in _shortened(_unequal_values(one, other))]
    for name in _common([_names(folder, "*") for folder in outputs], comparison.outputs, "predictions"):
        before, after = ((folder / name).read_bytes() for folder in outputs)
        if before != after:
            comparison.outputs.append(f"{name} differs{_first_line(before, after)}")
    return comparison


def steps_of(result: Path) -> dict[str, int]:
    """The number of steps of each phase."""
    return {phase["name"]: phase["steps"] for phase in _read(result / RUN / METRICS)["phases"]}


def untrained_phases(result: Path) -> list[str]:
    """A sentence for each phase that trained too little for a meaningful comparison."""
    sentences = []
    for phase in _read(result / RUN / METRICS)["phases"]:
        if phase["steps"] < STEPS:
            sentences.append(f"{phase['name']} took {phase['steps']} steps, fewer than {STEPS}")
        elif phase["best_step"] == 0:
            sentences.append(f"{phase['name']} kept its initial weights")
    return sentences


def flatten(value: Any, path: str = "") -> dict[str, str]:
    """The leaves of a JSON value by path, such as `phases[0].steps`; timings are included without their values."""
    if isinstance(value, dict) and value:
        parts = [(f"{path}.{key}" if path else key, None if key in TIMINGS else part) for key, part in value.items()]
    elif isinstance(value, list) and value:
        parts = [(f"{path}[{place}]", part) for place, part in enumerate(value)]
    else:
        return {path: json.dumps(value)}
    return {name: leaf for place, part in parts for name, leaf in flatten(part, place).items()}


def _compare_tensors(file: str, one: Tensors, other: Tensors, comparison: Comparison) -> None:
    sentences: list[str] = []
    for name in _common([set(one), set(other)], sentences):
        left, right = one[name], other[name]
        comparison.tensors += 1
        if (left.dtype, left.shape) != (right.dtype, right.shape):
            sentences.append(f"{name} is {left.dtype}{left.shape} and {right.dtype}{right.shape}")
            comparison.largest = np.inf
        elif left.tobytes() != right.tobytes():
            distance = _distance(left, right)
            sentences.append(f"{name} differs by up to {distance:.3g}")
            comparison.largest = max(comparison.largest, distance)
    comparison.weights += [f"{file}: {sentence}" for sentence in _shortened(sentences)]


def _distance(left: NDArray[Any], right: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore"):
        distance = float(np.abs(left.astype(np.float64) - right.astype(np.float64)).max())
    return np.inf if np.isnan(distance) else distance


def _unequal_values(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[str]:
    for name in {**one, **other}:
        if one.get(name) != other.get(name):
            yield f"{name} is {one.get(name, 'missing')} and {other.get(name, 'missing')}"


def _common(names: list[set[str]], sentences: list[str], needed: str = "") -> list[str]:
    """The common names, sorted. Adds a sentence for each name on one side only, and one if there are none."""
    first, second = names
    sentences += [f"{name} is only in the first" for name in sorted(first - second)]
    sentences += [f"{name} is only in the second" for name in sorted(second - first)]
    if needed and not first | second:
        sentences.append(f"{needed}: nothing to compare")
    return sorted(first & second)


def _names(folder: Path, pattern: str) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob(pattern) if path.is_file()}


def _shortened(sentences: Iterable[str]) -> list[str]:
    known = list(sentences)
    more = [f"and {len(known) - SHOWN} more differences"] if len(known) > SHOWN else []
    return known[:SHOWN] + more


def _first_line(one: bytes, other: bytes) -> str:
    """The first line that differs; empty for binary files."""
    try:
        left, right = one.decode().splitlines(), other.decode().splitlines()
    except UnicodeDecodeError:
        return ""
    pairs = enumerate(zip(left, right, strict=False), 1)
    number = next((number for number, (a, b) in pairs if a != b), min(len(left), len(right)) + 1)
    return f" from line {number} on"


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
