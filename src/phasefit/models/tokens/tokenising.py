"""From texts to flat token numbers, a chunk at a time: what is done to each text is done to all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np

SPECIAL = -1  # the word number of tokens that belong to no word of the text: [CLS], [SEP], the model's prompt
_LAST_SPACE = 0x3000  # no character behind this one is white space


class Chunk(NamedTuple):
    """Tokens of some texts, end to end: their ids and words, and per text how many it has and how many it lost."""

    ids: np.ndarray
    words: np.ndarray
    lengths: np.ndarray
    lost: np.ndarray


class Tokeniser(Protocol):
    """Turns texts into tokens; whatever is no text, or half a character, is a TypeError."""

    def __call__(self, texts: Sequence[str]) -> Chunk:
        """The tokens of these texts."""
        ...


class Flat(NamedTuple):
    """What the tokenizer says of some texts, end to end, and the word of each token: -1 before the first."""

    ids: np.ndarray
    special: np.ndarray
    last: np.ndarray  # the last character of each token, not its first: many begin with the space before; -1 for none
    words: np.ndarray
    lengths: np.ndarray  # tokens per text
    counts: np.ndarray  # words per text


class TextByText:
    """Any `tokenizers.Tokenizer` whose truncation is set, on whole texts; `prompt` is put before each.

    `keep` makes of each encoding what is kept of it, with the same fields and how many tokens are `lost`; without it,
    that is the encoding, and lost is what truncation cut off.
    """

    def __init__(self, backend: Any, prompt: str = "", keep: Callable[[Any, int], Any] | None = None) -> None:
        self._backend, self._prompt, self._keep = backend, prompt, keep
        self._added = backend.num_special_tokens_to_add(False)  # to each piece of a text that is cut

    def __call__(self, texts: Sequence[str]) -> Chunk:
        """The tokens of these texts; Rust's threads share them."""
        encodings = self._backend.encode_batch([self._prompt + text for text in texts])
        if self._keep is not None:
            encodings = [self._keep(encoding, self._added) for encoding in encodings]
        found = flat(texts, encodings, len(self._prompt))
        special = found.special | (found.last < 0) if self._prompt else found.special
        words = np.where(special, SPECIAL, np.maximum(found.words, 0))
        lost = np.fromiter((self._cut_off(encoding) for encoding in encodings), np.int32, len(encodings))
        return Chunk(found.ids, words.astype(np.int32), found.lengths, lost)

    def _cut_off(self, encoding: Any) -> int:
        """Tokens of a text behind the place where it was cut; its other pieces are `overflowing`."""
        if self._keep is not None:
            return int(encoding.lost)
        return sum(len(piece) - self._added for piece in encoding.overflowing)


def flat(texts: Sequence[str], encodings: Sequence[Any], before: int = 0) -> Flat:
    """Encodings of texts with so many characters `before` each."""
    lengths = np.fromiter(map(len, encodings), np.int32, len(encodings))
    many = int(lengths.sum())
    ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), np.int32, many)
    special = np.fromiter(chain.from_iterable(encoding.special_tokens_mask for encoding in encodings), bool, many)
    ends = (end for encoding in encodings for _, end in encoding.offsets)
    last = np.maximum(np.fromiter(ends, np.int64, many) - before, 0) - 1
    begun = _words_begun(" ".join(texts))
    borders = np.zeros(len(texts) + 1, dtype=np.int64)  # of the texts among all characters; a space is between them
    np.cumsum([len(text) + 1 for text in texts], out=borders[1:])
    borders[-1] -= 1
    begin = np.repeat(borders[:-1], lengths)
    return Flat(ids, special, last, begun[begin + last + 1] - begun[begin] - 1, lengths, np.diff(begun[borders]))


def _words_begun(text: str) -> np.ndarray:
    """How many words begin before each place of a text, (characters + 1)."""
    characters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    space = _spaces()[np.minimum(characters, _LAST_SPACE + 1)]
    begun = np.zeros(len(characters) + 1, dtype=np.int32)
    if len(characters):
        begun[1] = not space[0]
        np.cumsum(~space[1:] & space[:-1], out=begun[2:])
        begun[2:] += begun[1]
    return begun


@cache
def _spaces() -> np.ndarray:
    """Which characters are white space; the last stands for all that come behind."""
    return np.array([chr(code).isspace() for code in range(_LAST_SPACE + 2)])
