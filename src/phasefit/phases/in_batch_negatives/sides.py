"""The sides of a row: two views of its text, or the texts of a pair or triple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from phasefit.errors import RecipeError
from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.tokens.tokens import Tokens
from phasefit.models.views import Views
from phasefit.phases.contract import Batch, Encoded, PhaseData

ANCHOR, POSITIVE, NEGATIVE = "anchor", "positive", "negative"


class Sides(Protocol):
    """Rows to train on, and how each is encoded to one vector per side."""

    names: tuple[str, ...]
    """The names of the sides: "anchor", "positive" and possibly "negative"."""
    rows: np.ndarray
    validation: np.ndarray
    lengths: np.ndarray
    """Tokens of the longest side of each training row."""
    noisy: bool
    """Whether the sides differ by the noise of training mode, such as dropout."""
    alike: bool
    """Whether that noise is the only difference."""

    def encode(self, batch: Batch) -> Encoded:
        """Encode each side, one vector per row of the draw."""
        ...

    def notes(self) -> list[str]:
        """Notes to report before the phase starts."""
        ...


class TwoViews:
    """Two views of labelled and unlabelled texts; they always differ by dropout.

    `replacements` are texts to train on instead of the texts of the table, one for each.
    """

    names: tuple[str, ...] = (ANCHOR, POSITIVE)
    noisy = True

    def __init__(
        self, encoder: Encoder, data: PhaseData, views: Views, *, replacements: Sequence[str] | None = None
    ) -> None:
        self._encoder, self._data, self._views, self._replacements = encoder, data, views, replacements
        self._tokenise = None if replacements is None else encoder.tokeniser()
        self.rows = np.concatenate([data.train, data.unlabelled])
        self.validation = data.validation
        self.alike = not views.changes_text and views.adversarial is None
        self.lengths = data.tokens.lengths[self.rows]

    def encode(self, batch: Batch) -> Encoded:
        """Encode the unchanged text and its second view."""
        texts, tokens, rows = self._table(batch.whole["rows"])
        anchor = self._encoder(batch.put(tokens.batch(rows[batch.place])))
        seen = self._views.features(texts, tokens, rows, batch.generator, batch.place)
        positive = self._views.output(batch.put(seen))
        return {ANCHOR: sentence_vectors(anchor), POSITIVE: sentence_vectors(positive)}

    def notes(self) -> list[str]:
        """Notes of the views."""
        texts = self._data.texts if self._replacements is None else self._replacements
        return self._views.notes([texts[row] for row in self.rows.tolist()])

    def _table(self, rows: np.ndarray) -> tuple[Sequence[str], Tokens, np.ndarray]:
        """Texts, tokens and row numbers of a batch: those of the run, or of the replacements."""
        if self._replacements is None or self._tokenise is None:
            return self._data.texts, self._data.tokens, rows
        texts = [self._replacements[row] for row in rows.tolist()]
        return texts, self._tokenise(texts), np.arange(len(rows))


class Partners:
    """The texts of a pair, or of a triple with a hard negative.

    Rows without a second text are skipped. If other rows have a hard negative, so are rows without one: the objective
    needs hard negatives for all rows or for none.
    """

    noisy = alike = False

    def __init__(self, name: str, encoder: Encoder, data: PhaseData, *, hard_negatives: bool) -> None:
        if data.others is None:
            raise RecipeError(f"{name}: needs a table with two text columns, or three with a hard negative")
        self._name, self._encoder, self._data = name, encoder, data
        width = data.others.shape[1] if hard_negatives else 1
        while width > 1 and not (data.others[data.train, width - 1] >= 0).any():
            width -= 1
        self._others = data.others[:, :width]
        self.names = (ANCHOR, POSITIVE, NEGATIVE)[: 1 + width]
        self.rows, self.validation = (self._complete(part) for part in (data.train, data.validation))
        self._skipped = len(data.train) - len(self.rows)
        sides = np.column_stack([self.rows, self._others[self.rows]])
        self.lengths = data.tokens.lengths[sides].max(axis=1)

    def encode(self, batch: Batch) -> Encoded:
        """Encode each side separately, so that it is padded to its own length."""
        rows = batch.draw["rows"]
        sides = [rows, *self._others[rows].T]
        features = (batch.put(self._data.tokens.batch(side)) for side in sides)
        vectors = [sentence_vectors(self._encoder(part)) for part in features]
        return dict(zip(self.names, vectors, strict=True))

    def notes(self) -> list[str]:
        """How many rows are skipped."""
        if not self._skipped:
            return []
        missing = "second text" if self._others.shape[1] == 1 else "second text or hard negative"
        return [f"{self._name}: {self._skipped} training rows have no {missing} and are skipped"]

    def _complete(self, rows: np.ndarray) -> np.ndarray:
        complete: np.ndarray = rows[(self._others[rows] >= 0).all(axis=1)]
        return complete
