"""Named generators: every random choice of a run comes from one that is derived from the run's seed and a name."""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, *names: str | int) -> int:
    """A seed of its own for what `names` names: the same on every machine, unlike Python's hash."""
    digest = hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # torch takes 63 bits


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A numpy generator for what `names` names."""
    return np.random.default_rng(derive(seed, *names))
