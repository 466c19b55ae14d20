"""Batches in which no row is alone: a row without others has nothing to be told from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phasefit.data.batches import Batches, Draw
from phasefit.seeds import generator


class InCompany:
    """A stream of rows whose batches of one row get another one, drawn from the rest."""

    def __init__(self, batches: Batches, rows: np.ndarray, seed: int) -> None:
        if len(rows) < 2:
            raise ValueError("a row can only have company where there are two")
        self._inner, self._rows, self._seed = batches, rows, seed

    def __len__(self) -> int:
        return len(self._inner)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        random = generator(self._seed, "company", number)
        for draw in self._inner.epoch(number):
            rows = draw["rows"]
            if len(rows) == 1:
                place = int(random.integers(len(self._rows)))
                other = self._rows[place] if self._rows[place] != rows[0] else self._rows[place - 1]
                rows = np.append(rows, other)
            yield {"rows": rows}
