"""From texts to flat token numbers, a chunk at a time: what is done to each text is done to all of them at once.

`CachedTokeniser` keeps a tokeniser between calls: making one takes tens of milliseconds, more than a short text's
vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder
    from phasefit.models.tokens.tokens import Tokens

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
        encoded = flat(texts, encodings, len(self._prompt))
        special = encoded.special | (encoded.last < 0) if self._prompt else encoded.special
        words = np.where(special, SPECIAL, np.maximum(encoded.words, 0))
        lost = np.fromiter((self._cut_off(encoding) for encoding in encodings), np.int32, len(encodings))
        return Chunk(encoded.ids, words.astype(np.int32), encoded.lengths, lost)

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


class CachedTokeniser:
    """The tokeniser of an encoder as it is now: the last one while it still fits, else a new one.

    It is a copy of the encoder's tokenizer, so before each use it is compared with everything it was copied from.
    """

    def __init__(self) -> None:
        self._made: tuple[tuple[Any, ...], Callable[[Sequence[str]], Tokens]] | None = None

    def of(self, encoder: Encoder) -> Callable[[Sequence[str]], Tokens]:
        """What tokenises as `encoder.tokenise` does."""
        made, now = self._made, _copied_from(encoder)  # read once: another thread may be making one
        if made is None or made[0] != now:
            self._made = made = (now, encoder.tokeniser())
        return made[1]

    def __getstate__(self) -> dict[str, None]:
        """Copies of a model make their own."""
        return {"_made": None}


def _copied_from(encoder: Encoder) -> tuple[Any, ...]:
    """What decides how texts become tokens; a tokenizer that was replaced is another object, held so that it stays."""
    tokenizer = encoder.tokenizer
    backend = tokenizer.backend_tokenizer
    return (
        backend,
        encoder.max_length,
        encoder.long,
        encoder.prompt,
        tokenizer.truncation_side,
        tokenizer.pad_token_id,
        tokenizer.mask_token_id,
        backend.get_vocab_size(),
        repr(backend.normalizer),
        repr(backend.pre_tokenizer),
        repr(backend.post_processor),
    )
