"""The texts that contrast trains on: training rows after the imbalance correction, and additional texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from phasefit.data.balance import corrected_rows
from phasefit.data.stop_words import stop_words
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.tokens.noise import delete_stop_words
from phasefit.models.tokens.tokens import Features, Tokens
from phasefit.models.views.words import PUNCTUATION
from phasefit.phases.batch import merged
from phasefit.phases.contract import PhaseData
from phasefit.phases.contrast.generated import GeneratedCopies
from phasefit.phases.contrast.options import Balance
from phasefit.seeds import derive


class GrownRows:
    """Texts numbered by place, 0..n-1.

    First come rows of the run, then their noisy copies (`rows`, `noisy`), then texts that are not in the table, in the
    order they were added (`add`), without noise.
    """

    def __init__(self, data: PhaseData, balance: Balance, seed: int) -> None:
        inside, self.noisy = corrected_rows(
            data.codes[data.train],
            mode=balance.mode,
            min_ratio=balance.min_ratio,
            max_ratio=balance.max_ratio,
            seed=derive(seed, "balance"),
        )
        self.rows = data.train[inside]
        self.codes = data.codes[self.rows]  # one per place
        self.values = data.values[self.rows]  # labels, one per place
        self.weights = None if data.weights is None else data.weights[self.rows]  # one per place
        self._tokens, self._added = data.tokens, list[Tokens]()
        self._ratio = balance.noise
        self.generated: GeneratedCopies | None = None  # texts that replace copies
        self._stop = np.zeros(0, dtype=bool)
        if self.noisy.any():
            listed = stop_words(balance.stop_words)
            grown = np.unique(self.rows[self.noisy])
            self._stop = _stop_tokens(data.texts, data.tokens, grown, listed, balance.min_words)

    def __len__(self) -> int:
        return len(self.codes)

    def add(self, tokens: Tokens, codes: np.ndarray, values: np.ndarray | None = None) -> None:
        """Append texts with their class codes and labels."""
        self._added.append(tokens)
        self.codes = np.concatenate([self.codes, codes])
        self.values = np.concatenate([self.values, codes if values is None else values])
        if self.weights is not None:
            self.weights = np.concatenate([self.weights, np.ones(len(codes), self.weights.dtype)])

    @property
    def origins(self) -> np.ndarray:
        """One number per place, equal for a row and its copies."""
        extra = len(self) - len(self.rows)
        return np.concatenate([self.rows, len(self._tokens) + np.arange(extra)])

    @property
    def clean(self) -> np.ndarray:
        """The places without noise, in ascending order: every text once."""
        return np.concatenate([np.flatnonzero(~self.noisy), np.arange(len(self.rows), len(self))])

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per place, before any noise."""
        return np.concatenate([self._tokens.lengths[self.rows], *(part.lengths for part in self._added)])

    def features(self, places: np.ndarray, random: np.random.Generator) -> Features:
        """Token features of these places; copies lose random stop words, different ones each time."""
        if not self._added:
            return self._of_rows(places, random)
        parts: list[tuple[np.ndarray, Features]] = []
        own = np.flatnonzero(places < len(self.rows))
        if len(own):
            parts.append((own, self._of_rows(places[own], random)))
        start = len(self.rows)
        for tokens in self._added:
            here = np.flatnonzero((places >= start) & (places < start + len(tokens)))
            if len(here):
                parts.append((here, tokens.batch(places[here] - start)))
            start += len(tokens)
        return merged(parts, self._tokens.pad)

    def vectors(self, encoder: Encoder, places: np.ndarray) -> torch.Tensor:
        """Sentence vectors of places in ascending order, without noise, dropout or gradient."""
        own = places[places < len(self.rows)]
        parts, start = [encode_rows(encoder, self._tokens, self.rows[own])], len(self.rows)
        for tokens in self._added:
            here = places[(places >= start) & (places < start + len(tokens))]
            parts.append(encode_rows(encoder, tokens, here - start))
            start += len(tokens)
        return torch.cat(parts)

    def _of_rows(self, places: np.ndarray, random: np.random.Generator) -> Features:
        copies = np.flatnonzero(self.noisy[places])
        first = len(self.rows) - np.count_nonzero(self.noisy)  # copies come after all rows
        if self.generated is None or not (used := self.generated.used(places[copies] - first)).any():
            return self._noised(places, random)
        made = copies[used]
        parts = [(made, self.generated.features(places[made] - first))]
        others = np.setdiff1d(np.arange(len(places)), made)
        if len(others):
            parts.append((others, self._noised(places[others], random)))
        return merged(parts, self._tokens.pad)

    def _noised(self, places: np.ndarray, random: np.random.Generator) -> Features:
        rows, noisy = self.rows[places], self.noisy[places]
        if self._tokens.window:  # deleting words would shift the windows
            noisy = noisy & (self._tokens.lengths[rows] <= self._tokens.window)
        if not noisy.any() or self._ratio == 0:
            return self._tokens.batch(rows)
        return delete_stop_words(self._tokens, rows, self._stop, self._ratio, random, only=noisy)


def _stop_tokens(
    texts: Sequence[str], tokens: Tokens, rows: np.ndarray, listed: frozenset[str], min_words: int
) -> np.ndarray:
    """Mask of the stop-word tokens in the texts of these rows; texts with fewer than `min_words` words are skipped."""
    marked = np.zeros(len(tokens.ids), dtype=bool)
    for row in rows.tolist():
        words = texts[row].split()
        if len(words) < min_words:
            continue
        stop = np.array([word.casefold().strip(PUNCTUATION) in listed for word in words])
        span = slice(int(tokens.starts[row]), int(tokens.starts[row + 1]))
        owner = tokens.words[span]
        marked[span] = stop[np.clip(owner, 0, len(words) - 1)] & (owner >= 0)
    return marked
