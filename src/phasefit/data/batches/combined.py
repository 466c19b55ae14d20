"""Combine streams of batches: in parallel, or the streams of several tasks by a schedule.

Every schedule has the same number of batches per epoch, up to one batch. Sequential is the exception: its order may
name a task twice, and each time all its rows are used. The schedule `union` is in `union.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from phasefit.data.batches.contract import Batches, Draw
from phasefit.seeds import generator

MIXES = ("sequential", "round_robin", "uniform", "proportional", "temperature", "mixed")
PASSES = 1_000_000  # upper limit for the passes over one task within an epoch


class ZippedBatches:
    """An epoch is one epoch of the longest stream; the others start again as often as needed.

    With `alternate` each batch comes from one stream in turn, else every batch combines all streams. Keys become
    `name.key`.
    """

    def __init__(self, streams: Mapping[str, Batches], *, alternate: bool = False) -> None:
        self._streams = dict(streams)
        self._alternate = alternate
        if not all(len(stream) for stream in self._streams.values()):
            raise ValueError("a stream without batches cannot be zipped")
        self._longest = max(len(stream) for stream in self._streams.values())

    def __len__(self) -> int:
        return self._longest * (len(self._streams) if self._alternate else 1)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        running = {name: self._endless(stream, number * self._longest) for name, stream in self._streams.items()}
        for _ in range(self._longest):
            draws = [{f"{name}.{key}": rows for key, rows in next(part).items()} for name, part in running.items()]
            if self._alternate:
                yield from draws
            else:
                yield {key: rows for draw in draws for key, rows in draw.items()}

    @staticmethod
    def _endless(stream: Batches, skipped: int) -> Iterator[Draw]:
        """The batches of all epochs, without the first `skipped` ones."""
        epoch, first = divmod(skipped, len(stream))
        while True:
            for index, draw in enumerate(stream.epoch(epoch)):
                if index >= first:
                    yield draw
            epoch, first = epoch + 1, 0


class TaskBatches:
    """Draws `{"rows", "task"}`: row numbers and, for each row, the index of its task among the streams."""

    def __init__(
        self,
        streams: Mapping[str, Batches],
        *,
        mix: str,
        seed: int,
        order: Sequence[str] = (),
        temperature: float = 1.0,
    ) -> None:
        self._names, self._streams = list(streams), list(streams.values())
        self._mix, self._seed, self._temperature = mix, seed, temperature
        self._order = [self._names.index(name) for name in order or self._names]

    def __len__(self) -> int:
        if self._mix == "sequential":
            return sum(len(self._streams[task]) for task in self._order)
        batches = sum(map(len, self._streams))
        return -(-batches // len(self._streams)) if self._mix == "mixed" else batches

    def shares(self) -> np.ndarray:
        """The probability of each task per step: its share of the batches, smoothed by a temperature."""
        sizes = np.array([len(stream) for stream in self._streams], dtype=np.float64)
        power = {"proportional": 1.0, "temperature": 1 / self._temperature}.get(self._mix, 0.0)
        weights = sizes**power
        return np.asarray(weights / weights.sum())

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch; a task that runs out of rows starts again, in another order."""
        if self._mix == "sequential":
            yield from self._in_order(number)
            return
        endless = [self._endless(task, number) for task in range(len(self._streams))]
        if self._mix == "mixed":
            for _ in range(len(self)):
                yield _interleaved([next(stream) for stream in endless])
        else:
            for task in self._tasks(number):
                yield next(endless[task])

    def _tasks(self, number: int) -> Iterator[int]:
        if self._mix == "round_robin":
            yield from (step % len(self._streams) for step in range(len(self)))
        else:
            random = generator(self._seed, "tasks", number)
            yield from random.choice(len(self._streams), size=len(self), p=self.shares()).tolist()

    def _in_order(self, number: int) -> Iterator[Draw]:
        passes = [0] * len(self._streams)
        for task in self._order:
            for draw in self._streams[task].epoch(number * PASSES + passes[task]):
                yield _of_task(draw, task)
            passes[task] += 1

    def _endless(self, task: int, number: int) -> Iterator[Draw]:
        epoch = number * PASSES
        while True:
            for draw in self._streams[task].epoch(epoch):
                yield _of_task(draw, task)
            epoch += 1


def _of_task(draw: Draw, task: int) -> Draw:
    return {"rows": draw["rows"], "task": np.full(len(draw["rows"]), task, dtype=np.int64)}


def _interleaved(draws: Sequence[Draw]) -> Draw:
    """Several draws as one, one row of each in turn, so that each process gets rows of every task."""
    positions = np.concatenate([np.arange(len(draw["rows"])) for draw in draws])
    order = np.argsort(positions, kind="stable")
    return {name: np.concatenate([draw[name] for draw in draws])[order] for name in ("rows", "task")}
