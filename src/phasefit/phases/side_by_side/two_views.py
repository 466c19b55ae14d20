"""Two views of one text: encoded twice, the second time perhaps changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.tokens.tokens import Tokens
from phasefit.models.views import Views
from phasefit.phases.contract import Batch, Encoded, PhaseData
from phasefit.phases.side_by_side.sides import ANCHOR, POSITIVE


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
