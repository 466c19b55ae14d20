"""The rows of several tasks as one table: a batch has rows of any tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.seeds import generator


class UnionBatches:
    """Draws `{"rows", "task"}`: every row of every task once per epoch, in random order.

    `task` is the index of the task of each row. Rows are not sorted by length: a pair is longer than a text, so batches
    of similar length would have one task each.
    """

    def __init__(self, rows: Mapping[str, np.ndarray], *, batch_size: int, seed: int) -> None:
        self._rows = np.concatenate(list(rows.values()))
        self._task = np.repeat(np.arange(len(rows)), [len(own) for own in rows.values()])
        self._tasks, self._size, self._seed = len(rows), batch_size, seed

    def __len__(self) -> int:
        return -(-len(self._rows) // self._size)

    def shares(self) -> np.ndarray:
        """The share of each task of the rows."""
        return np.bincount(self._task, minlength=self._tasks) / len(self._rows)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch; the last may be incomplete."""
        order = generator(self._seed, "union", number).permutation(len(self._rows))
        for start in range(0, len(order), self._size):
            part = order[start : start + self._size]
            yield {"rows": self._rows[part], "task": self._task[part]}
