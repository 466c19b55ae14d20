"""Every row once per epoch, shuffled, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.seeds import generator

WINDOW = 50  # batches that are shuffled together, then sorted by length: small enough to stay random


class ShuffledBatches:
    """Rows in random order; inside a window of 50 batches they are sorted by length, then the batches are shuffled."""

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
            part = part[np.argsort(self._lengths[part], kind="stable")]
            cuts = range(0, len(part), self._size)
            for cut in random.permutation(np.array(cuts)):
                yield {self._key: self._rows[part[cut : cut + self._size]]}
