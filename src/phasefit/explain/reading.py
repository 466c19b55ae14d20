"""Which words a model reads: texts that are too long are cut, and a word that was cut can have no weight.

A model with an encoder is asked for the characters of each token, as its tokenizer cuts the text. Other models read
everything. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.explain.words import Span, words_of
from phasefit.models.encoder.long_texts import pieces, prepare
from phasefit.models.predictor import Predictor
from phasefit.models.tokens.tokenising import encode_batch

SPECIAL = -1  # instead of a word, for tokens that belong to none


@dataclass(frozen=True)
class ReadRow:
    """A text or a pair: its words, which of them the model reads, and the word of each token.

    `tokens` has one array (tokens, 2) for each sequence that the encoder gets: the first of a token's words and the one
    after the last, as positions in `words`, or SPECIAL. It is empty for a model without an encoder.
    """

    sides: tuple[str, ...]
    words: tuple[Span, ...]
    read: np.ndarray
    tokens: tuple[np.ndarray, ...] = ()

    @property
    def cut(self) -> int:
        """The number of words that the model does not read."""
        return int((~self.read).sum())


class Reader:
    """Finds the words of texts, and those that a model reads."""

    def __init__(self, model: Predictor, task: str) -> None:
        self._encoder: Any = getattr(model, "encoder", None)
        self._together = self._encoder is not None and model.head(task).pair == "together"
        self._backend: Any = None

    def read(self, sides: tuple[str, ...]) -> ReadRow:
        """The words of a text or a pair."""
        each = [words_of(text, side) for side, text in enumerate(sides)]
        words = tuple(word for own in each for word in own)
        if self._encoder is None:
            return ReadRow(sides, words, np.ones(len(words), dtype=bool))
        places = _Places(each)
        spans = self._pair(sides) if self._together else [self._single(side, text) for side, text in enumerate(sides)]
        read = np.zeros(len(words), dtype=bool)
        for span in (span for sequence in spans for span in sequence if span is not None):
            first, stop = places.overlapping(span)
            read[first:stop] = True
        tokens = tuple(np.array([places.of(span) for span in sequence]).reshape(-1, 2) for sequence in spans)
        return ReadRow(sides, words, read, tokens)

    def _single(self, side: int, text: str) -> list[Span | None]:
        """The characters of each token of a text that is encoded alone; None for special tokens."""
        encoder, prompt = self._encoder, self._encoder.prompt
        if self._backend is None:
            self._backend = _copy(encoder)
            prepare(self._backend, encoder.long, encoder.max_length, encoder.tokenizer.truncation_side)
        encoding = encode_batch(self._backend, [prompt + text])[0]
        if encoder.long != "truncate":
            added = self._backend.num_special_tokens_to_add(False)
            encoding = pieces(encoding, encoder.long, encoder.max_length, added)
        each = zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
        return [_span(start, end, side, len(prompt), bool(special)) for (start, end), special in each]

    def _pair(self, sides: tuple[str, ...]) -> list[list[Span | None]]:
        """The characters of each token of a pair that is encoded together, in both orders."""
        encoder = self._encoder
        if self._backend is None:
            self._backend = _copy(encoder)
            way: dict[str, Any] = {"strategy": "longest_first", "direction": encoder.tokenizer.truncation_side}
            self._backend.enable_truncation(encoder.max_length, **way)
        sequences = []
        for order in ((0, 1), (1, 0)):
            first, second = (sides[side] for side in order)
            encoding = encode_batch(self._backend, [(encoder.prompt + first, second)])[0]
            each = zip(encoding.offsets, encoding.special_tokens_mask, encoding.sequence_ids, strict=True)
            sequences.append(
                [
                    None
                    if owner is None
                    else _span(start, end, order[owner], 0 if owner else len(encoder.prompt), bool(special))
                    for (start, end), special, owner in each
                ]
            )
        return sequences


def _copy(encoder: Any) -> Any:
    """A copy of the tokenizer, because truncation is part of its saved state."""
    from tokenizers import Tokenizer

    backend = Tokenizer.from_str(encoder.tokenizer.backend_tokenizer.to_str())
    backend.no_padding()
    backend.no_truncation()
    return backend


def _span(start: int, end: int, side: int, before: int, special: bool) -> Span | None:
    """The characters of a token in a text with `before` characters of the prompt in front; None if it has none."""
    if special or end <= max(start, before):
        return None
    return Span(max(start - before, 0), end - before, side)


class _Places:
    """The places of the words of each side, to look up those of a token."""

    def __init__(self, sides: Sequence[Sequence[Span]]) -> None:
        self._starts = [np.array([word.start for word in words], dtype=np.int64) for words in sides]
        self._ends = [np.array([word.end for word in words], dtype=np.int64) for words in sides]
        self._before = np.cumsum([0, *map(len, sides)]).tolist()

    def overlapping(self, span: Span) -> tuple[int, int]:
        """The first word that a token is part of, and the one after the last; equal if it is only white space."""
        first = int(np.searchsorted(self._ends[span.side], span.start, side="right"))
        stop = int(np.searchsorted(self._starts[span.side], span.end, side="left"))
        before = self._before[span.side]
        return before + first, before + max(stop, first)

    def of(self, span: Span | None) -> tuple[int, int]:
        """The words that share the weight of a token; white space belongs to the word before it, or to the first."""
        if span is None or not len(self._starts[span.side]):
            return SPECIAL, SPECIAL
        first, stop = self.overlapping(span)
        if first == stop:
            first = max(first - 1, self._before[span.side])
        return first, max(stop, first + 1)
