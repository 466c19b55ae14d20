"""The class texts of self-training, as rows that are numbered after those of the run."""

from __future__ import annotations

import numpy as np

from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.tokens.tokens import Features
from phasefit.phases.batch import merged
from phasefit.phases.class_texts import NONE, class_texts
from phasefit.phases.contract import PhaseData


class NamedRows:
    """The rows of a run, then its class texts if there are any."""

    def __init__(self, given: str, encoder: Encoder, data: PhaseData, where: str) -> None:
        self._data, self._first = data, len(data.codes)
        self.codes, self.notes = np.zeros(0, dtype=np.int64), list[str]()  # the class of each class text
        if given != NONE:
            added = class_texts(given, data.space, np.unique(data.codes[data.train]), where)
            self._texts = encoder.tokenise(added.texts)
            self.codes, self.notes = added.codes, added.notes(where, compared=True)

    def __bool__(self) -> bool:
        return bool(len(self.codes))

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the class texts."""
        return self._first + np.arange(len(self.codes))

    def named(self, rows: np.ndarray) -> np.ndarray:
        """Mask of the class texts."""
        return rows >= self._first

    def codes_of(self, rows: np.ndarray) -> np.ndarray:
        """The classes of rows that are class texts."""
        return np.asarray(self.codes[rows - self._first])

    def features(self, rows: np.ndarray) -> Features:
        """Token features of rows of both kinds."""
        own, texts = np.flatnonzero(~self.named(rows)), np.flatnonzero(self.named(rows))
        parts = [(own, self._data.tokens.batch(rows[own]))] if len(own) else []
        if len(texts):
            parts.append((texts, self._texts.batch(rows[texts] - self._first)))
        return parts[0][1] if len(parts) == 1 else merged(parts, self._data.tokens.pad)

    def vectors(self, encoder: Encoder) -> np.ndarray:
        """The sentence vectors of the class texts, without dropout or gradient."""
        if not self:
            return np.zeros((0, encoder.dimension), dtype=np.float32)
        return np.asarray(encode_rows(encoder, self._texts).cpu().numpy())
