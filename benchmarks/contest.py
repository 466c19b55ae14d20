"""The code shared by the `fit.py` of all contestants: reading rows, timing, scoring.

Each contestant's own interpreter runs it, so it uses only the standard library. A `fit.py` defines its budgets, its
packages and one function that trains on a `Job` and predicts its test texts, each timed as a part of the clock:

    fit.py TRAIN.csv TEST.csv --model FOLDER --seed 0 --threads 2 --budget default --out result.json

`--settings JSON` replaces the budget. `--answers FILE` also writes the answer to each test text: whether it is right,
the probability of the predicted class and that of the true class.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from measuring import peak

Budgets: TypeAlias = Mapping[str, Mapping[str, Any]]
DIGITS = 7  # of probabilities in a file


class Clock:
    """Seconds per part. A nested part pauses the outer one: loading during fitting does not count as fitting."""

    def __init__(
        self, now: Callable[[], float] = time.perf_counter, cpu: Callable[[], float] = time.process_time
    ) -> None:
        self.seconds: dict[str, float] = {"load": 0.0, "fit": 0.0, "predict": 0.0}
        self.cpu_seconds = dict(self.seconds)  # of all threads; lower than wall time if other processes used the cores
        self.peak_mb = 0.0
        self._now, self._cpu = now, cpu
        self._open: list[str] = []
        self._since, self._cpu_since = now(), cpu()

    def begin(self, part: str) -> None:
        """Start a part; time counts for it from now on."""
        self._book()
        self._open.append(part)

    def end(self) -> None:
        """End the part that was started last; record the peak memory at the end of fitting."""
        self._book()
        if self._open.pop() == "fit":
            self.peak_mb = peak()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time the body of the `with` block."""
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    def _book(self) -> None:
        now, cpu = self._now(), self._cpu()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
            self.cpu_seconds[self._open[-1]] += cpu - self._cpu_since
        self._since, self._cpu_since = now, cpu


@dataclass(frozen=True)
class Job:
    """The input of a contestant. It never sees the labels of the test texts."""

    texts: list[str]
    labels: list[str]
    test_texts: list[str]
    model: str  # the folder of the encoder that all contestants start from
    seed: int
    threads: int
    settings: Mapping[str, Any]
    clock: Clock = field(default_factory=Clock)

    @property
    def classes(self) -> list[str]:
        """The labels of the training rows, sorted."""
        return sorted(set(self.labels))

    @property
    def codes(self) -> list[int]:
        """The index of each row's label in `classes`."""
        places = {label: place for place, label in enumerate(self.classes)}
        return [places[label] for label in self.labels]


@dataclass(frozen=True)
class Prediction:
    """The probability of every class for each test text; columns in the order of `classes`."""

    classes: Sequence[str]
    probabilities: Sequence[Sequence[float]]

    @property
    def labels(self) -> list[str]:
        """The most probable class of each text."""
        return [str(self.classes[max(range(len(row)), key=row.__getitem__)]) for row in self.probabilities]


def main(budgets: Budgets, packages: Sequence[str], solve: Callable[[Job], Sequence[str] | Prediction]) -> None:
    """Read the rows, run the contestant, score its predictions, write the result."""
    parser = argparse.ArgumentParser(description="train on one table, predict another, report time and memory")
    add = parser.add_argument
    add("train", type=Path)
    add("test", type=Path)
    add("--model", required=True)
    add("--seed", type=int, default=0)
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--budget", choices=list(budgets), default="default" if "default" in budgets else next(iter(budgets)))
    add("--settings", type=json.loads, help="settings as JSON, instead of a budget")
    add("--out", type=Path, required=True)
    add("--answers", type=Path, help="also write the answer to each test text")
    args = parser.parse_args()
    os.environ.update(environment(args.threads))  # before torch is imported
    (texts, labels), (test_texts, test_labels) = read_rows(args.train), read_rows(args.test)
    settings = budgets[args.budget] if args.settings is None else args.settings
    job = Job(texts, labels, test_texts, args.model, args.seed, args.threads, settings)
    solved = solve(job)
    predicted = solved.labels if isinstance(solved, Prediction) else list(map(str, solved))
    result = {
        **{f"{part}_seconds": round(seconds, 3) for part, seconds in job.clock.seconds.items()},
        "fit_cpu_seconds": round(job.clock.cpu_seconds["fit"], 3),
        **scores(test_labels, predicted),
        "peak_mb": round(job.clock.peak_mb),
        "versions": " ".join(f"{package} {version(package)}" for package in packages),
        "settings": words(job.settings),
    }
    args.out.write_text(json.dumps(result), encoding="utf-8")
    if args.answers is not None:
        content = answers(test_labels, predicted, solved if isinstance(solved, Prediction) else None)
        content["cpu_seconds"] = {part: round(seconds, 3) for part, seconds in job.clock.cpu_seconds.items()}
        args.answers.write_text(json.dumps(content), encoding="utf-8")


def answers(truth: Sequence[str], predicted: Sequence[str], prediction: Prediction | None) -> dict[str, Any]:
    """What paired tests, log loss and calibration need of each test text; an unknown class has probability 0."""
    content: dict[str, Any] = {"right": [int(label == guess) for label, guess in zip(truth, predicted, strict=True)]}
    if prediction is not None:
        places = {str(label): place for place, label in enumerate(prediction.classes)}
        rows = [list(map(float, row)) for row in prediction.probabilities]
        of_true = [row[places[label]] if label in places else 0.0 for row, label in zip(rows, truth, strict=True)]
        content["confidence"] = [round(max(row), DIGITS) for row in rows]
        content["true_probability"] = [round(value, DIGITS) for value in of_true]
    return content


def environment(threads: int) -> dict[str, str]:
    """The same number of threads for all contestants, and no network."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "RAYON_NUM_THREADS": str(threads),  # tokenizers
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "DISABLE_TELEMETRY": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def read_rows(path: Path) -> tuple[list[str], list[str]]:
    """Texts and labels of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


def write_rows(path: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    """Write a table for `read_rows`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, labels, strict=True))


def scores(truth: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy, and macro F1 over all classes in the truth or the predictions."""
    correct = Counter(label for label, guess in zip(truth, predicted, strict=True) if label == guess)
    true_counts, predicted_counts = Counter(truth), Counter(predicted)
    f1 = [
        2 * correct[label] / (true_counts[label] + predicted_counts[label]) for label in true_counts | predicted_counts
    ]
    return {
        "accuracy": round(sum(correct.values()) / len(truth), 5),
        "macro_f1": round(sum(f1) / len(f1), 5),
    }


def words(settings: Mapping[str, Any]) -> str:
    """Settings as text, for the table and to detect results of a changed budget."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())
