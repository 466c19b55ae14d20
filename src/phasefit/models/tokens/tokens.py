"""Texts as token ids: tokenised once per run, stored flat, padded only inside a batch.

Each token is stored with the number of its word (words are separated by whitespace), so that word noise needs no second
tokenisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from phasefit.models.tokens.store import GrowingNumbers
from phasefit.models.tokens.tokenising import SPECIAL, TextByText, Tokeniser
from phasefit.models.tokens.word_by_word import WordByWord, is_word_by_word

__all__ = ["SPECIAL", "Features", "Tokens", "features", "tokenise"]

Features: TypeAlias = dict[str, Tensor]

CHUNK = 4096  # texts that are tokenised together
CHUNK_CHARACTERS = 4_000_000  # limits a chunk of long texts
PIECE = 1 << 22  # tokens that are processed together
MANY = 1000  # texts: with fewer, too few words repeat for a lookup to be faster


@dataclass(frozen=True)
class Tokens:
    """The tokens of many texts: `ids` and `words` concatenated, text i from `starts[i]` to `starts[i + 1]`."""

    ids: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    pad: int
    mask: int | None
    lost: np.ndarray  # tokens per text that were cut off because the text was too long
    window: int = 0  # tokens after which the next window of a long text starts; 0: no windows

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokens:
        """Copies of a phase share the tokens, which never change."""
        return self

    @property
    def cut(self) -> int:
        """The number of texts that were too long for the model."""
        return int(np.count_nonzero(self.lost))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per text, including special ones."""
        return np.diff(self.starts)

    def count(self, token: int) -> np.ndarray:
        """How often a token occurs in each text; computed piece by piece, because ids may be in a file."""
        counts = np.zeros(len(self), dtype=np.int64)
        for start in range(0, len(self.ids), PIECE):
            places = np.flatnonzero(self.ids[start : start + PIECE] == token) + start
            counts += np.bincount(np.searchsorted(self.starts, places, side="right") - 1, minlength=len(self))
        return counts

    def in_use(self) -> np.ndarray:
        """The ids that occur, sorted; computed piece by piece, because they may be in a file."""
        parts = (np.unique(self.ids[start : start + PIECE]) for start in range(0, len(self.ids), PIECE))
        return reduce(np.union1d, parts, np.empty(0, dtype=self.ids.dtype))

    def batch(self, rows: np.ndarray) -> Features:
        """The rows as padded tensors."""
        ids, _, real = self.padded(rows)
        return features(ids, real)

    def first(self, most: int) -> Tokens:
        """The same texts with at most `most` tokens each."""
        lengths = self.lengths
        if lengths.max(initial=0) <= most:
            return self
        kept = np.arange(len(self.ids)) - np.repeat(self.starts[:-1], lengths) < most
        starts = np.zeros_like(self.starts)
        np.cumsum(np.minimum(lengths, most), out=starts[1:])
        lost = self.lost + np.maximum(lengths - most, 0).astype(self.lost.dtype)
        return Tokens(self.ids[kept], self.words[kept], starts, self.pad, self.mask, lost)

    def padded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids, word numbers and the mask of real tokens, each (rows, longest)."""
        begin = self.starts[rows]
        length = self.starts[rows + 1] - begin
        column = np.arange(length.max(initial=1))
        real = column < length[:, None]
        place = np.where(real, begin[:, None] + column, 0)
        ids = np.where(real, self.ids[place], self.pad)
        words = np.where(real, self.words[place], SPECIAL)
        return ids, words, real


def features(ids: np.ndarray, real: np.ndarray) -> Features:
    """The input of an encoder."""
    return {
        "input_ids": torch.from_numpy(ids.astype(np.int64)),
        "attention_mask": torch.from_numpy(real.astype(np.int64)),
    }


def tokenise(
    backend: Any,
    texts: Sequence[str],
    *,
    pad: int,
    mask: int | None,
    prompt: str = "",
    keep: Callable[[Any, int], Any] | None = None,
    window: int = 0,
) -> Tokens:
    """Tokenise with a `tokenizers.Tokenizer` whose truncation is set; needs memory for the result and one chunk.

    `keep` is passed to `TextByText`. The tokens of a large corpus are stored in a temporary file.
    """
    run: Tokeniser = TextByText(backend, prompt, keep)
    if len(texts) >= MANY and not prompt and keep is None and is_word_by_word(backend):
        run = WordByWord(backend)
    ids, words, lengths, lost = (GrowingNumbers() for _ in range(4))
    for chunk in _chunks(texts):
        for part, more in zip((ids, words, lengths, lost), run(chunk), strict=True):
            part.append(more)
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(lengths.finish(), out=starts[1:])
    return Tokens(ids.finish(), words.finish(), starts, pad, mask, lost.finish(), window)


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, in chunks of bounded size."""
    start = characters = 0
    for place, text in enumerate(texts):
        characters += len(text)
        if place + 1 - start >= CHUNK or characters >= CHUNK_CHARACTERS or place + 1 == len(texts):
            yield texts[start : place + 1]
            start, characters = place + 1, 0
