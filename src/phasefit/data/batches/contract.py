"""The interface of all streams of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias

import numpy as np

Draw: TypeAlias = dict[str, np.ndarray]
"""One batch: named arrays of row numbers, e.g. {"rows": (n,)} or {"pairs": (n, 2)}; the first axis can be split."""


class Batches(Protocol):
    """A stream in which every epoch has the same number of batches and depends only on its number."""

    def __len__(self) -> int:
        """Batches per epoch."""
        ...

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch, counted from 0."""
        ...
