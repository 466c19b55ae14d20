"""The training rows after the imbalance correction: which rows, which of them are copies, and how copies are noised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phasefit.data.balance import corrected_rows
from phasefit.data.seeds import derive
from phasefit.data.stop_words import stop_words
from phasefit.models.noise import delete_stop_words
from phasefit.models.tokens import Features, Tokens
from phasefit.phases.contract import PhaseData
from phasefit.phases.contrast.options import Balance

_PUNCTUATION = ".,;:!?\"'()[]{}«»„“”‘’…-–"


class GrownRows:
    """Places 0..n-1 stand for rows of the run; some rows have several places, the extra ones with noise."""

    def __init__(self, data: PhaseData, balance: Balance, seed: int) -> None:
        inside, self.noisy = corrected_rows(
            data.codes[data.train],
            mode=balance.mode,
            min_ratio=balance.min_ratio,
            max_ratio=balance.max_ratio,
            seed=derive(seed, "balance"),
        )
        self.rows = data.train[inside]
        self._tokens = data.tokens
        self._ratio = balance.noise
        self._stop = np.zeros(0, dtype=bool)
        if self.noisy.any():
            listed = stop_words(balance.stop_words)
            grown = np.unique(self.rows[self.noisy])
            self._stop = _stop_tokens(data.texts, data.tokens, grown, listed, balance.min_words)

    def __len__(self) -> int:
        return len(self.rows)

    def features(self, places: np.ndarray, random: np.random.Generator) -> Features:
        """The texts of these places; copies lose some stop words, drawn anew each time."""
        rows, noisy = self.rows[places], self.noisy[places]
        if not noisy.any() or self._ratio == 0:
            return self._tokens.batch(rows)
        return delete_stop_words(self._tokens, rows, self._stop, self._ratio, random, only=noisy)


def _stop_tokens(
    texts: Sequence[str], tokens: Tokens, rows: np.ndarray, listed: frozenset[str], min_words: int
) -> np.ndarray:
    """Marks the tokens of stop words in texts of these rows that are long enough to lose some."""
    marked = np.zeros(len(tokens.ids), dtype=bool)
    for row in rows.tolist():
        words = texts[row].split()
        if len(words) < min_words:
            continue
        stop = np.array([word.casefold().strip(_PUNCTUATION) in listed for word in words])
        span = slice(int(tokens.starts[row]), int(tokens.starts[row + 1]))
        owner = tokens.words[span]
        marked[span] = stop[np.clip(owner, 0, len(words) - 1)] & (owner >= 0)
    return marked
