"""From texts to flat arrays of token ids, chunk by chunk; each step handles all texts of a chunk at once.

`CachedTokeniser` keeps a tokeniser between calls: creating one takes tens of milliseconds, longer than encoding a short
text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from phasefit.errors import ModelError

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder
    from phasefit.models.tokens.tokens import Tokens

SPECIAL = -1  # the word number of tokens that belong to no word of the text: [CLS], [SEP], the model's prompt
_LAST_SPACE = 0x3000  # no character after this one is whitespace


class Chunk(NamedTuple):
    """The tokens of some texts, concatenated: ids and words of each token, length and lost tokens of each text."""

    ids: np.ndarray
    words: np.ndarray
    lengths: np.ndarray
    lost: np.ndarray


class Tokeniser(Protocol):
    """Turns texts into tokens; raises a TypeError for a value that is not a string or contains a lone surrogate."""

    def __call__(self, texts: Sequence[str]) -> Chunk:
        """The tokens of these texts."""
        ...


class Flat(NamedTuple):
    """The encodings of some texts, concatenated, and the word of each token: -1 before the first word."""

    ids: np.ndarray
    special: np.ndarray
    last: np.ndarray  # the last character of each token, since many start with the space before a word; -1 for none
    words: np.ndarray
    lengths: np.ndarray  # tokens per text
    counts: np.ndarray  # words per text


def encode_batch(backend: Any, texts: Sequence[Any], **options: Any) -> list[Any]:
    """The encodings of texts by a `tokenizers.Tokenizer`; a ModelError if its rules fail on one of them."""
    try:
        encodings: list[Any] = backend.encode_batch(texts, **options)
    except BaseException as error:
        if not is_panic(error):
            raise
        reason = " ".join(str(error).split())[:120]
        raise ModelError(f"the tokenizer of the model fails on a text ({reason}); use another model") from None
    return encodings


def is_panic(error: BaseException) -> bool:
    """Whether the error is a panic of a Rust library, which is not an Exception and cannot be imported."""
    return type(error).__name__ == "PanicException"


class TextByText:
    """Applies any `tokenizers.Tokenizer` with its truncation set to whole texts, each preceded by `prompt`.

    `keep` selects the part of each encoding to keep, with the same fields and the number of `lost` tokens; by default
    the whole encoding is kept, and the lost tokens are those that truncation cut off.
    """

    def __init__(self, backend: Any, prompt: str = "", keep: Callable[[Any, int], Any] | None = None) -> None:
        self._backend, self._prompt, self._keep = backend, prompt, keep
        self._added = backend.num_special_tokens_to_add(False)  # in each piece of a truncated text

    def __call__(self, texts: Sequence[str]) -> Chunk:
        """The tokens of these texts, computed in parallel by the Rust library."""
        encodings = encode_batch(self._backend, [self._prompt + text for text in texts])
        if self._keep is not None:
            encodings = [self._keep(encoding, self._added) for encoding in encodings]
        encoded = flat(texts, encodings, len(self._prompt))
        special = encoded.special | (encoded.last < 0) if self._prompt else encoded.special
        words = np.where(special, SPECIAL, np.maximum(encoded.words, 0))
        lost = np.fromiter((self._cut_off(encoding) for encoding in encodings), np.int32, len(encodings))
        return Chunk(encoded.ids, words.astype(np.int32), encoded.lengths, lost)

    def _cut_off(self, encoding: Any) -> int:
        """The number of tokens that were cut off; they are in the `overflowing` pieces."""
        if self._keep is not None:
            return int(encoding.lost)
        return sum(len(piece) - self._added for piece in encoding.overflowing)


def flat(texts: Sequence[str], encodings: Sequence[Any], before: int = 0) -> Flat:
    """The concatenated encodings of texts that were encoded with `before` characters in front of each."""
    lengths = np.fromiter(map(len, encodings), np.int32, len(encodings))
    total = int(lengths.sum())
    ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), np.int32, total)
    special = np.fromiter(chain.from_iterable(encoding.special_tokens_mask for encoding in encodings), bool, total)
    ends = (end for encoding in encodings for _, end in encoding.offsets)
    last = np.maximum(np.fromiter(ends, np.int64, total) - before, 0) - 1
    count = _word_counts(" ".join(texts))
    borders = np.zeros(len(texts) + 1, dtype=np.int64)  # where each text starts in the joined string
    np.cumsum([len(text) + 1 for text in texts], out=borders[1:])
    borders[-1] -= 1
    begin = np.repeat(borders[:-1], lengths)
    return Flat(ids, special, last, count[begin + last + 1] - count[begin] - 1, lengths, np.diff(count[borders]))


def _word_counts(text: str) -> np.ndarray:
    """The number of words that start before each position of a text, (characters + 1)."""
    characters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    space = _spaces()[np.minimum(characters, _LAST_SPACE + 1)]
    count = np.zeros(len(characters) + 1, dtype=np.int32)
    if len(characters):
        count[1] = not space[0]
        np.cumsum(~space[1:] & space[:-1], out=count[2:])
        count[2:] += count[1]
    return count


@cache
def _spaces() -> np.ndarray:
    """Which characters are whitespace; the last element represents all later characters."""
    return np.array([chr(code).isspace() for code in range(_LAST_SPACE + 2)])


class CachedTokeniser:
    """The current tokeniser of an encoder: the cached one while it is up to date, otherwise a new one.

    It is a copy of the encoder's tokenizer, so before each use it is compared with the settings it was created from.
    """

    def __init__(self) -> None:
        self._cached: tuple[tuple[Any, ...], Callable[[Sequence[str]], Tokens]] | None = None

    def of(self, encoder: Encoder) -> Callable[[Sequence[str]], Tokens]:
        """A function that tokenises like `encoder.tokenise`."""
        cached, current = self._cached, _settings(encoder)  # read once: another thread may be creating one
        if cached is None or cached[0] != current:
            self._cached = cached = (current, encoder.tokeniser())
        return cached[1]

    def __getstate__(self) -> dict[str, None]:
        """Copies of a model create their own."""
        return {"_cached": None}


def _settings(encoder: Encoder) -> tuple[Any, ...]:
    """Everything that affects tokenisation; holds the tokenizer object, so that a replacement has another identity."""
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
