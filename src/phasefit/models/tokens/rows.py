"""Rows of single texts or pairs as input of an encoder: one or two token sequences per row.

A pair is two sequences, or one joined by the tokenizer: [CLS] a [SEP] b [SEP].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.encoder.inference import Progress, encode_rows
from phasefit.models.heads import PairKind
from phasefit.models.tokens.tokenising import encode_batch
from phasefit.models.tokens.tokens import SPECIAL, Features, Tokens

CHUNK = 4096


@dataclass(frozen=True)
class Rows:
    """The sequences of each row: `index` (rows, 1 or 2) holds positions in `tokens`, -1 for none."""

    tokens: Tokens
    index: np.ndarray

    @classmethod
    def single(cls, tokens: Tokens) -> Rows:
        """One row per text."""
        return cls(tokens, np.arange(len(tokens))[:, None])

    @classmethod
    def apart(cls, tokens: Tokens, others: np.ndarray) -> Rows:
        """The two texts of each pair as separate sequences; `others` are positions of the second texts."""
        return cls(tokens, np.stack([np.arange(len(others)), others], axis=1))

    @classmethod
    def together(cls, encoder: Encoder, texts: Sequence[str], others: np.ndarray) -> Rows:
        """Both texts in one sequence, in both orders; rows without a second text have no sequence."""
        rows = np.flatnonzero(others >= 0)
        left, right = ([texts[place] for place in side.tolist()] for side in (rows, others[rows]))
        index = np.full((len(others), 2), -1, dtype=np.int64)
        index[rows] = np.arange(2 * len(rows)).reshape(2, -1).T
        return cls(tokenise_pairs(encoder, [*left, *right], [*right, *left]), index)

    @classmethod
    def of(cls, encoder: Encoder, texts: Sequence[str], tokens: Tokens, others: np.ndarray, how: PairKind) -> Rows:
        """Pairs as this kind of head reads them."""
        return cls.together(encoder, texts, others) if how == "together" else cls.apart(tokens, others)

    @property
    def cut(self) -> int:
        """The number of rows with a sequence that was too long for the model."""
        complete = self.index[(self.index >= 0).all(axis=1)]
        return int(self.tokens.lost[complete].any(axis=1).sum())

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Tokens per row."""
        return np.asarray(self.tokens.lengths[self.index[rows]].sum(axis=1))

    def features(self, rows: np.ndarray) -> Features:
        """The sequences of these rows as padded tensors, those of one row next to each other."""
        return self.tokens.batch(self.index[rows].ravel())

    def vectors(self, output: Features) -> Tensor:
        """The vectors of an encoder's output, (rows, 1 or 2 * dimension)."""
        pooled = sentence_vectors(output)
        return pooled.reshape(len(pooled) // self.index.shape[1], -1)

    def encode(
        self, encoder: Encoder, rows: np.ndarray, *, batch_size: int = 64, progress: Progress | None = None
    ) -> Tensor:
        """The vectors of these rows, without gradient."""
        each = self.index.shape[1]
        report = progress if progress is None or each == 1 else _by_row(progress, each)
        vectors = encode_rows(encoder, self.tokens, self.index[rows].ravel(), batch_size=batch_size, progress=report)
        return vectors.reshape(len(rows), -1) if len(rows) else torch.empty(0, each * encoder.dimension)


class FrozenVectors:
    """The vectors of rows under a frozen encoder, encoded on first use."""

    def __init__(self, rows: Rows, which: np.ndarray) -> None:
        self._rows, self._which = rows, which
        self._place = np.zeros(len(rows.index), dtype=np.int64)
        self._place[which] = np.arange(len(which))
        self._vectors: Tensor | None = None

    def skip(self, encoder: Encoder) -> int:
        """Use zeros instead, to time steps without encoding every row first; returns the number of rows."""
        size = self._rows.index.shape[1] * encoder.dimension
        self._vectors = torch.zeros(len(self._which), size, device=next(encoder.parameters()).device)
        return len(self._which)

    def fill(self, encoder: Encoder) -> Tensor:
        """The vectors of all rows, encoded if they are not yet."""
        if self._vectors is None:
            self._vectors = self._rows.encode(encoder, self._which)
        return self._vectors

    def of(self, encoder: Encoder, rows: np.ndarray) -> Tensor:
        """The vectors of these rows."""
        vectors = self.fill(encoder)
        return vectors[torch.from_numpy(self._place[rows]).to(vectors.device)]


def _by_row(progress: Progress, each: int) -> Callable[[int], None]:
    """Converts progress in sequences to progress in rows of `each` sequences."""
    done = 0

    def report(sequences: int) -> None:
        nonlocal done
        before, done = done // each, done + sequences
        if done // each > before:
            progress(done // each - before)

    return report


def tokenise_pairs(encoder: Encoder, left: Sequence[str], right: Sequence[str]) -> Tokens:
    """The tokens of each pair; if a pair is too long, its longer text is cut until both fit."""
    from tokenizers import Tokenizer

    whole = Tokenizer.from_str(encoder.tokenizer.backend_tokenizer.to_str())
    whole.no_padding()
    whole.no_truncation()
    cut = Tokenizer.from_str(whole.to_str())
    cut.enable_truncation(encoder.max_length, strategy="longest_first", direction=encoder.tokenizer.truncation_side)
    pairs = [(encoder.prompt + one, other) for one, other in zip(left, right, strict=True)]
    encodings: list[Any] = []
    for start in range(0, len(pairs), CHUNK):
        encodings += encode_batch(cut, pairs[start : start + CHUNK])
    lost = np.zeros(len(pairs), dtype=np.int32)
    for row, encoding in enumerate(encodings):
        if encoding.overflowing:
            lost[row] = len(whole.encode(*pairs[row])) - len(encoding)
    starts = np.zeros(len(pairs) + 1, dtype=np.int64)
    np.cumsum([len(encoding) for encoding in encodings], out=starts[1:])
    ids = np.fromiter((number for encoding in encodings for number in encoding.ids), np.int32, int(starts[-1]))
    words = np.full(len(ids), SPECIAL, dtype=np.int32)  # pairs get no noise
    pad, mask = encoder.tokenizer.pad_token_id or 0, encoder.tokenizer.mask_token_id
    return Tokens(ids, words, starts, pad, mask, lost)
