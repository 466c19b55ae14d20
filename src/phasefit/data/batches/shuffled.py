"""Every row once per epoch, shuffled, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.batches.similar import jittered
from phasefit.seeds import generator

WINDOW = 50  # batches that are shuffled together, then sorted by length: small enough to stay random
JITTER = 0.05  # lengths vary by up to this share, so that a table of one window is batched differently in each epoch


class ShuffledBatches:
    """Rows in random order; within a window of 50 batches they are sorted by length, then the batches are shuffled.

    Lengths are jittered before sorting, and the incomplete batch is a random one. So a row meets different rows in each
    epoch, and neither the longest nor the shortest texts are always in the incomplete batch.
    """

    def __init__(self, rows: np.ndarray, lengths: np.ndarray, *, batch_size: int, seed: int, key: str = "rows") -> None:
        self._rows, self._lengths = rows, lengths  # lengths[i] belongs to rows[i]
        self._size, self._seed, self._key = batch_size, seed, key

    def __len__(self) -> int:
        return -(-len(self._rows) // self._size)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        random = generator(self._seed, "shuffled", number)
        order = random.permutation(len(self._rows))
        window = WINDOW * self._size
        for start in range(0, len(order), window):
            part = order[start : start + window]
            lengths = jittered(self._lengths[part], random, JITTER)
            part = part[np.argsort(lengths, kind="stable")]
            for begin, end in random.permutation(self._bounds(len(part), random)).tolist():
                yield {self._key: self._rows[part[begin:end]]}

    def _bounds(self, rows: int, random: np.random.Generator) -> np.ndarray:
        """The start and end of each batch (batches, 2); one random batch may be incomplete."""
        count = -(-rows // self._size)
        sizes = np.full(count, self._size)
        sizes[random.integers(count)] -= count * self._size - rows
        ends = np.cumsum(sizes)
        return np.stack([ends - sizes, ends], axis=1)
