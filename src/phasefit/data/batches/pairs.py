"""The paper's explicit pairs: unique, unordered, never a text with itself, balanced by agreement. O(rows) memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.batches.shuffled import ShuffledBatches
from phasefit.seeds import generator

CHUNK = 1 << 16


def shuffles(augmentation: int, classes: int) -> int:
    """The number of times the table is paired with a shuffled copy, as in the authors' code."""
    return augmentation if classes >= 100 else augmentation * max(int(log2(classes)), 1)


def draw_pairs(targets: np.ndarray, origin: np.ndarray, *, times: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of indices into `origin` (m, 2) and their agreement (m,).

    The table is zipped `times` times with a shuffled copy of itself. Each unordered pair is kept once, and never a row
    with its own copy. Then every value of the agreement is reduced to the number of pairs of the rarest value.
    """
    random = generator(seed, "pairs")
    keys = _drawn(origin, times, random)
    n, levels = max(len(origin), 1), targets.reshape(len(targets), -1)
    shared = np.empty(len(keys), dtype=np.int16)
    for start in range(0, len(keys), CHUNK):
        left, right = np.divmod(keys[start : start + CHUNK], n)
        if levels.dtype == bool:  # several labels: they agree if they share one
            shared[start : start + CHUNK] = (levels[left] & levels[right]).any(axis=1)
        else:
            shared[start : start + CHUNK] = (levels[left] == levels[right]).cumprod(axis=1).sum(axis=1)
    kept = _even(shared, random)
    keys, shared = keys[kept], shared[kept]
    pairs = np.empty((len(keys), 2), dtype=np.int32)  # half the memory of NumPy's default integers
    np.floor_divide(keys, n, out=pairs[:, 0], casting="same_kind")
    np.remainder(keys, n, out=pairs[:, 1], casting="same_kind")
    return pairs, shared / (1 if levels.dtype == bool else levels.shape[1])


def _drawn(origin: np.ndarray, times: int, random: np.random.Generator) -> np.ndarray:
    """Unique pairs (low, high) as numbers low * n + high, ascending."""
    n, filled = len(origin), 0
    keys = np.empty(times * n, dtype=np.int64)
    for _ in range(times):
        left, right = random.permutation(n), random.permutation(n)
        apart = origin[left] != origin[right]
        low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
        keys[filled : filled + len(low)] = low * n + high
        filled += len(low)
    keys = keys[:filled]
    keys.sort()  # in place: np.unique and np.union1d make several copies
    first = np.ones(filled, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def _even(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A mask that keeps every value as often as the rarest one."""
    distinct, counts = np.unique(values, return_counts=True)
    marked = np.zeros(len(values), dtype=bool)
    for value in distinct:
        marked[random.choice(np.flatnonzero(values == value), counts.min(), replace=False)] = True
    return marked


class PairBatches:
    """Every pair once per epoch, shuffled, in batches of similar length."""

    def __init__(self, pairs: np.ndarray, lengths: np.ndarray, *, batch_size: int, seed: int) -> None:
        known = np.asarray(lengths, dtype=np.int32)
        longest = np.maximum(known[pairs[:, 0]], known[pairs[:, 1]])
        self._inner = ShuffledBatches(pairs, longest, batch_size=batch_size, seed=seed, key="pairs")

    def __len__(self) -> int:
        return len(self._inner)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        return self._inner.epoch(number)
