"""What the sides of a row are: two views of its text, or its text and those beside it in the table."""

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
    """Rows to train on and how each becomes vectors, one per side."""

    names: tuple[str, ...]
    """Which sides there are: "anchor", "positive" and perhaps "negative"."""
    rows: np.ndarray
    validation: np.ndarray
    lengths: np.ndarray
    """Tokens of each training row, of its longest side."""
    noisy: bool
    """Whether the noise of training mode is part of what makes the sides differ."""
    alike: bool
    """Whether nothing else makes them differ."""

    def encode(self, batch: Batch) -> Encoded:
        """The sides' vectors, one for each row of the draw."""
        ...

    def notes(self) -> list[str]:
        """Sentences worth telling before the phase starts."""
        ...


class TwoViews:
    """Labelled and unlabelled texts alike; dropout, drawn for each view, is always part of the difference.

    `instead` are other texts to train on, one in the place of each of the table's.
    """

    names: tuple[str, ...] = (ANCHOR, POSITIVE)
    noisy = True

    def __init__(
        self, encoder: Encoder, data: PhaseData, views: Views, *, instead: Sequence[str] | None = None
    ) -> None:
        self._encoder, self._data, self._views, self._instead = encoder, data, views, instead
        self._tokenise = None if instead is None else encoder.tokeniser()
        self.rows = np.concatenate([data.train, data.unlabelled])
        self.validation = data.validation
        self.alike = not views.changes_text and views.adversarial is None
        self.lengths = data.tokens.lengths[self.rows]

    def encode(self, batch: Batch) -> Encoded:
        """The text as it is, and its second view."""
        texts, tokens, rows = self._table(batch.draw["rows"])
        anchor = self._encoder(batch.put(tokens.batch(rows)))
        seen = self._views.features(texts, tokens, rows, batch.generator)
        positive = self._views.output(batch.put(seen))
        return {ANCHOR: sentence_vectors(anchor), POSITIVE: sentence_vectors(positive)}

    def notes(self) -> list[str]:
        """What the views have to say."""
        return self._views.notes()

    def _table(self, rows: np.ndarray) -> tuple[Sequence[str], Tokens, np.ndarray]:
        """Texts, their tokens, and the rows among them: the run's, or a small table of what stands in their place."""
        if self._instead is None or self._tokenise is None:
            return self._data.texts, self._data.tokens, rows
        texts = [self._instead[row] for row in rows.tolist()]
        return texts, self._tokenise(texts), np.arange(len(rows))


class Partners:
    """A text and those beside it in the table: its positive, perhaps a hard negative.

    Rows without a positive are left out. So are, where other rows have one, rows without a hard negative: the
    objective takes one of each row or of none.
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
