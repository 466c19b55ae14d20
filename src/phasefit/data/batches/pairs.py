"""The paper's explicit pairs: unique, unordered, no text with itself, as many alike as unlike. O(rows) memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.batches.shuffled import ShuffledBatches
from phasefit.data.seeds import generator


def shuffles(augmentation: int, classes: int) -> int:
    """How often the table is paired with a shuffled copy: the authors' count."""
    return augmentation if classes >= 100 else augmentation * max(int(log2(classes)), 1)


def draw_pairs(targets: np.ndarray, origin: np.ndarray, *, times: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of places in `origin` (m, 2) and their agreement (m,).

    The table is zipped `times` times with a shuffled copy of itself; a pair is kept once whatever its order, never a
    row with its own copy; then each value of the agreement is cut to the size of the rarest one.
    """
    random = generator(seed, "pairs")
    n = len(origin)
    keys = np.empty(0, dtype=np.int64)
    for _ in range(times):
        left, right = random.permutation(n), random.permutation(n)
        apart = origin[left] != origin[right]
        low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
        keys = np.union1d(keys, low.astype(np.int64) * n + high)
    pairs = np.stack([keys // max(n, 1), keys % max(n, 1)], axis=1)
    levels = targets.reshape(len(targets), -1)
    same = (levels[pairs[:, 0]] == levels[pairs[:, 1]]).cumprod(axis=1).mean(axis=1)
    kept = _even(same, random)
    return pairs[kept], same[kept]


def _even(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Places such that every value occurs as often as the rarest, in order."""
    found, counts = np.unique(values, return_counts=True)
    if not len(found):
        return np.empty(0, dtype=np.int64)
    parts = [random.choice(np.flatnonzero(values == value), counts.min(), replace=False) for value in found]
    return np.sort(np.concatenate(parts))


class PairBatches:
    """The pairs, each once per epoch, shuffled, in batches of similar length."""

    def __init__(self, pairs: np.ndarray, lengths: np.ndarray, *, batch_size: int, seed: int) -> None:
        longest = lengths[pairs].max(axis=1) if len(pairs) else np.empty(0)
        self._inner = ShuffledBatches(pairs, longest, batch_size=batch_size, seed=seed, key="pairs")

    def __len__(self) -> int:
        return len(self._inner)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        return self._inner.epoch(number)
