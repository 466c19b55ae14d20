"""What a contestant's `fit.py` shares with all others: the same rows in, the same clock, the same scores out.

Run by each contestant's own interpreter, so it needs the standard library only. `fit.py` names its budgets and its
packages and brings one function that trains on `Job` and predicts its test texts, each inside a part of the clock:

    fit.py TRAIN.csv TEST.csv --model FOLDER --seed 0 --threads 2 --budget default --out result.json
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


class Clock:
    """Seconds of each part. A part inside another stops the outer one: loading inside fitting is not fitting."""

    def __init__(
        self, now: Callable[[], float] = time.perf_counter, cpu: Callable[[], float] = time.process_time
    ) -> None:
        self.seconds: dict[str, float] = {"load": 0.0, "fit": 0.0, "predict": 0.0}
        self.cpu_seconds = dict(self.seconds)  # of all threads; fewer than seconds: others used the machine
        self.peak_mb = 0.0
        self._now, self._cpu = now, cpu
        self._open: list[str] = []
        self._since, self._cpu_since = now(), cpu()

    def begin(self, part: str) -> None:
        """From here on the time is this part's."""
        self._book()
        self._open.append(part)

    def end(self) -> None:
        """The part that was begun last is over; so is the question of its memory if it was the fitting."""
        self._book()
        if self._open.pop() == "fit":
            self.peak_mb = peak()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what is inside."""
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
    """What a contestant is given. It never sees the labels of the test texts."""

    texts: list[str]
    labels: list[str]
    test_texts: list[str]
    model: str  # the folder of the encoder that all start from
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
        """The place of each row's label among the classes."""
        places = {label: place for place, label in enumerate(self.classes)}
        return [places[label] for label in self.labels]


def main(budgets: Budgets, packages: Sequence[str], solve: Callable[[Job], Sequence[str]]) -> None:
    """Read the rows, let the contestant work, score its predictions, write the result."""
    parser = argparse.ArgumentParser(description="train on one table, predict another, say what it took")
    add = parser.add_argument
    add("train", type=Path)
    add("test", type=Path)
    add("--model", required=True)
    add("--seed", type=int, default=0)
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--budget", choices=list(budgets), default="default" if "default" in budgets else next(iter(budgets)))
    add("--out", type=Path, required=True)
    args = parser.parse_args()
    os.environ.update(environment(args.threads))  # before torch is imported
    (texts, labels), (test_texts, test_labels) = read_rows(args.train), read_rows(args.test)
    job = Job(texts, labels, test_texts, args.model, args.seed, args.threads, budgets[args.budget])
    predicted = list(map(str, solve(job)))
    result = {
        **{f"{part}_seconds": round(seconds, 3) for part, seconds in job.clock.seconds.items()},
        "fit_cpu_seconds": round(job.clock.cpu_seconds["fit"], 3),
        **scores(test_labels, predicted),
        "peak_mb": round(job.clock.peak_mb),
        "versions": " ".join(f"{package} {version(package)}" for package in packages),
        "settings": words(job.settings),
    }
    args.out.write_text(json.dumps(result), encoding="utf-8")


def environment(threads: int) -> dict[str, str]:
    """The same threads for all, and no network."""
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
    """A table that `read_rows` reads back as it was."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, labels, strict=True))


def scores(truth: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy, and macro F1 over the classes that occur in the truth or among the predictions."""
    right = Counter(label for label, said in zip(truth, predicted, strict=True) if label == said)
    occurs, said = Counter(truth), Counter(predicted)
    f1 = [2 * right[label] / (occurs[label] + said[label]) for label in occurs | said]
    return {
        "accuracy": round(sum(right.values()) / len(truth), 5),
        "macro_f1": round(sum(f1) / len(f1), 5),
    }


def words(settings: Mapping[str, Any]) -> str:
    """Settings in words, for the table and to tell whether a result is still of this budget."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())
