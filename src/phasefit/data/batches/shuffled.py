"""Every row once per epoch, shuffled, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.batches.similar import jittered
from phasefit.seeds import generator

WINDOW = 50  # batches that are shuffled together, then sorted by length: small enough to stay random
JITTER = 0.05  # a length counts as up to this share more or less, so that a table of one window is cut anew each time


class ShuffledBatches:
    """Rows in random order; inside a window of 50 batches they are sorted by length, then the batches are shuffled.

    Lengths are jittered before they are compared, and the batch that is smaller than the others may hold any lengths:
    a row meets other rows in every epoch, and neither the longest nor the shortest texts are always in small company.
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
            for begin, end in random.permutation(self._cuts(len(part), random)).tolist():
                yield {self._key: self._rows[part[begin:end]]}

    def _cuts(self, many: int, random: np.random.Generator) -> np.ndarray:
        """Where batches begin and end (batches, 2); one of them, any, may be smaller than the others."""
        count = -(-many // self._size)
        sizes = np.full(count, self._size)
        sizes[random.integers(count)] -= count * self._size - many
        ends = np.cumsum(sizes)
        return np.stack([ends - sizes, ends], axis=1)
