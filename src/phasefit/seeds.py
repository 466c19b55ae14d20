"""Named random generators: each is derived from the run's seed and the name of its purpose."""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, *names: str | int) -> int:
    """A separate seed for the purpose `names`, identical on every machine, unlike Python's hash."""
    digest = hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # torch accepts 63 bits


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator for the purpose `names`."""
    return np.random.default_rng(derive(seed, *names))
