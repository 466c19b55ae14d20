"""Texts as token numbers: tokenised once per run, kept flat, padded only inside a batch.

Beside each token stands the number of the word (what whitespace separates) that it belongs to, so that word noise acts
on the stored numbers and nothing is tokenised again.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

Features: TypeAlias = dict[str, Tensor]

SPECIAL = -1  # the word number of tokens that belong to no word of the text: [CLS], [SEP], the model's prompt
CHUNK = 4096
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Tokens:
    """The tokens of many texts: `ids` and `words` end to end, text i from `starts[i]` to `starts[i + 1]`."""

    ids: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    pad: int
    mask: int | None
    lost: np.ndarray  # tokens per text that were cut off, because the model does not take them

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def cut(self) -> int:
        """How many texts were longer than the model takes."""
        return int(np.count_nonzero(self.lost))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per text, special ones included."""
        return np.diff(self.starts)

    def batch(self, rows: np.ndarray) -> Features:
        """The rows as padded tensors."""
        ids, _, real = self.padded(rows)
        return features(ids, real)

    def padded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids, word numbers and what is not padding, each (rows, longest)."""
        begin = self.starts[rows]
        length = self.starts[rows + 1] - begin
        column = np.arange(length.max(initial=1))
        real = column < length[:, None]
        place = np.where(real, begin[:, None] + column, 0)
        ids = np.where(real, self.ids[place], self.pad)
        words = np.where(real, self.words[place], SPECIAL)
        return ids, words, real


def features(ids: np.ndarray, real: np.ndarray) -> Features:
    """What an encoder takes."""
    return {
        "input_ids": torch.from_numpy(ids.astype(np.int64)),
        "attention_mask": torch.from_numpy(real.astype(np.int64)),
    }


def tokenise(backend: Any, texts: Sequence[str], *, pad: int, mask: int | None, prompt: str = "") -> Tokens:
    """Tokenise with a `tokenizers.Tokenizer` whose truncation is set; memory is that of the result and one chunk."""
    # Arrays that grow in place: a list of parts would be held twice while it is joined.
    ids, words, lengths, lost = (array("i") for _ in range(4))
    added = backend.num_special_tokens_to_add(False)  # to each piece of a text that is cut
    for start in range(0, len(texts), CHUNK):
        chunk = [prompt + text for text in texts[start : start + CHUNK]]
        encodings = backend.encode_batch(chunk)
        for text, encoding in zip(chunk, encodings, strict=True):
            ids.extend(encoding.ids)
            words.frombytes(_word_numbers(text, encoding, len(prompt)).tobytes())
            lengths.append(len(encoding.ids))
            lost.append(_cut_off(encoding, added))
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.asarray(lengths), out=starts[1:])
    return Tokens(np.asarray(ids), np.asarray(words), starts, pad, mask, np.asarray(lost))


def _cut_off(encoding: Any, added: int) -> int:
    """Tokens of a text behind the place where it was cut; its other pieces are `overflowing`."""
    return sum(len(piece) - added for piece in encoding.overflowing)


def _word_numbers(text: str, encoding: Any, begin: int) -> np.ndarray:
    """The word each token belongs to; words are counted from character `begin` on, behind the prompt."""
    # The last character of a token, not its first: byte-level and SentencePiece tokens begin with the space before.
    last = np.array([end - 1 for _, end in encoding.offsets], dtype=np.int64)
    begins = np.fromiter((match.start() for match in _WORD.finditer(text, begin)), dtype=np.int64)
    numbers = np.searchsorted(begins, last, side="right") - 1
    special = np.array(encoding.special_tokens_mask, dtype=bool) | ((last < begin) & (begin > 0))
    return np.where(special, SPECIAL, np.maximum(numbers, 0)).astype(np.int32)
