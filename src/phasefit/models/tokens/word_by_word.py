"""Tokenises a large table word by word: a word that was seen before is looked up instead of tokenised again.

BERT's tokenizers handle each space-separated word independently, and a few words make up most of all texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from phasefit.models.tokens.tokenising import SPECIAL, Chunk, encode_batch, flat

REMEMBERED = 1 << 19  # words; beyond, or beyond eight times as many tokens, the cache is cleared to bound memory
PROBE = "a"


class WordByWord:
    """Produces the same tokens as `TextByText`, for tokenizers that pass `is_word_by_word`."""

    def __init__(self, backend: Any) -> None:
        self._backend, self._room = backend, _content(backend)
        self._left = backend.truncation is not None and backend.truncation["direction"] == "left"
        self._before, self._after = _ends(backend) or ([], [])
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str, int] = {}
        self._ids, self._words = array("i"), array("i")  # of all known words, concatenated
        # Where the tokens of each known word end, and how many words it has: it may contain other whitespace.
        self._ends, self._counts = array("q", [0]), array("i")

    def __call__(self, texts: Sequence[str]) -> Chunk:
        """The tokens of these texts."""
        split = [str.split(text, " ") for text in texts]
        if len(self._known) > REMEMBERED or len(self._ids) > 8 * REMEMBERED:
            self._forget()
        words = list(chain.from_iterable(split))
        self._learn(list(set(words).difference(self._known)))
        numbers = np.fromiter(map(self._known.__getitem__, words), np.int64, len(words))
        return self._joined(numbers, np.fromiter(map(len, split), np.int64, len(split)))

    def _learn(self, words: list[str]) -> None:
        if not words:
            return
        encodings = encode_batch(self._backend, words, add_special_tokens=False)
        if any(encoding.overflowing for encoding in encodings):  # a word longer than the limit of a text
            self._backend = _without_truncation(self._backend)
            encodings = encode_batch(self._backend, words, add_special_tokens=False)
        encoded, known = flat(words, encodings), len(self._counts)
        self._known.update(zip(words, range(known, known + len(words)), strict=True))
        ends = len(self._ids) + np.cumsum(encoded.lengths, dtype=np.int64)
        additions = (
            (self._ids, encoded.ids),
            (self._words, encoded.words),
            (self._ends, ends),
            (self._counts, encoded.counts),
        )
        for stored, new in additions:
            stored.frombytes(new.tobytes())

    def _joined(self, numbers: np.ndarray, pieces: np.ndarray) -> Chunk:
        """The tokens of texts from the numbers of their known words; `pieces` is the number of words per text."""
        ends, counts = np.asarray(self._ends)[1:], np.asarray(self._counts)
        starts = np.asarray(self._ends)[numbers]
        many = ends[numbers] - starts
        first = np.cumsum(pieces) - pieces  # the position of each text's first piece; every text has one
        before = np.cumsum(counts[numbers]) - counts[numbers]
        before -= np.repeat(before[first], pieces)
        whole = np.add.reduceat(many, first)
        place = np.repeat(starts - (np.cumsum(many) - many), many) + np.arange(int(many.sum()))
        ids = np.asarray(self._ids)[place]
        words = np.maximum(np.asarray(self._words)[place] + np.repeat(before, many), 0)
        kept = np.minimum(whole, self._room)
        inside = self._inside(whole, kept)
        return self._framed(ids[inside], words[inside], kept, whole - kept)

    def _inside(self, whole: np.ndarray, kept: np.ndarray) -> np.ndarray | slice:
        """Selects the tokens that are not cut off."""
        if (whole == kept).all():
            return slice(None)
        place = np.arange(int(whole.sum())) - np.repeat(np.cumsum(whole) - whole, whole)
        marked: np.ndarray = place >= np.repeat(whole - kept, whole) if self._left else place < np.repeat(kept, whole)
        return marked

    def _framed(self, ids: np.ndarray, words: np.ndarray, kept: np.ndarray, lost: np.ndarray) -> Chunk:
        """Adds the special tokens around each text."""
        before, after = len(self._before), len(self._after)
        lengths = kept + before + after
        ends = np.cumsum(lengths)
        place = np.repeat(ends - after - np.cumsum(kept), kept) + np.arange(len(ids))
        framed = np.empty(int(lengths.sum()), dtype=np.int32)
        numbers = np.full(len(framed), SPECIAL, dtype=np.int32)
        framed[place], numbers[place] = ids, words
        framed[(ends - lengths)[:, None] + np.arange(before)] = self._before
        framed[(ends - after)[:, None] + np.arange(after)] = self._after
        return Chunk(framed, numbers, lengths.astype(np.int32), lost.astype(np.int32))


def is_word_by_word(backend: Any) -> bool:
    """Whether the tokens of this tokenizer never depend on text beyond the surrounding spaces."""
    from tokenizers import models, normalizers, pre_tokenizers

    plain = (
        isinstance(backend.model, models.WordPiece)
        and isinstance(backend.normalizer, normalizers.BertNormalizer | None)
        and isinstance(backend.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
    )
    if not plain or any(" " in added.content for added in backend.get_added_tokens_decoder().values()):
        return False
    cut = backend.truncation
    return (cut is None or (cut["stride"] == 0 and _content(backend) > 0)) and _ends(backend) is not None


def _without_truncation(backend: Any) -> Any:
    """A copy, because the tokenizer may be in use elsewhere; copying is slow for a large vocabulary."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(backend.to_str())
    copy.no_truncation()
    return copy


def _content(backend: Any) -> int:
    """The maximum number of tokens of a text that are kept, without special ones."""
    cut = backend.truncation
    return np.iinfo(np.int32).max if cut is None else cut["max_length"] - backend.num_special_tokens_to_add(False)


def _ends(backend: Any) -> tuple[list[int], list[int]] | None:
    """The special tokens before and after each text; None if they cannot be distinguished from it."""
    bare, framed = (backend.encode(PROBE, add_special_tokens=special) for special in (False, True))
    own = [place for place, special in enumerate(framed.special_tokens_mask) if not special]
    if any(bare.special_tokens_mask) or not own or own != list(range(own[0], own[0] + len(own))):
        return None
    if [framed.ids[place] for place in own] != bare.ids:
        return None
    return framed.ids[: own[0]], framed.ids[own[-1] + 1 :]
