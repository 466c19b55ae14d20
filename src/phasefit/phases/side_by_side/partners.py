"""A text and those beside it in the table: its positive, and perhaps a hard negative."""

from __future__ import annotations

import numpy as np

from phasefit.errors import RecipeError
from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.phases.contract import Batch, Encoded, PhaseData
from phasefit.phases.side_by_side.sides import ANCHOR, NEGATIVE, POSITIVE


class Partners:
    """Rows of a table of pairs or triples. Rows without a positive are left out.

    So are, where other rows have one, rows without a hard negative: the objective takes one of each row or of none.
    """

    noisy = alike = False

    def __init__(self, name: str, encoder: Encoder, data: PhaseData, *, hard_negatives: bool) -> None:
        if data.others is None:
            raise RecipeError(f"{name}: needs a table with two texts in a row, or three with a hard negative")
        self._name, self._encoder, self._data = name, encoder, data
        width = data.others.shape[1] if hard_negatives else 1
        while width > 1 and not (data.others[data.train, width - 1] >= 0).any():
            width -= 1
        self._others = data.others[:, :width]
        self.names = (ANCHOR, POSITIVE, NEGATIVE)[: 1 + width]
        self.rows, self.validation = (self._whole(part) for part in (data.train, data.validation))
        self._left_out = len(data.train) - len(self.rows)
        sides = np.column_stack([self.rows, self._others[self.rows]])
        self.lengths = data.tokens.lengths[sides].max(axis=1)

    def encode(self, batch: Batch) -> Encoded:
        """Each side in a pass of its own, so that it is padded to its own length."""
        rows = batch.draw["rows"]
        sides = [rows, *self._others[rows].T]
        features = (batch.put(self._data.tokens.batch(side)) for side in sides)
        vectors = [sentence_vectors(self._encoder(part)) for part in features]
        return dict(zip(self.names, vectors, strict=True))

    def notes(self) -> list[str]:
        """How many rows could not be used."""
        if not self._left_out:
            return []
        lack = "second text" if self._others.shape[1] == 1 else "second text or a hard negative"
        return [f"{self._name}: {self._left_out} training rows have no {lack} and are left out"]

    def _whole(self, rows: np.ndarray) -> np.ndarray:
        whole: np.ndarray = rows[(self._others[rows] >= 0).all(axis=1)]
        return whole
