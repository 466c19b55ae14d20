"""From texts to token ids, as the run tokenises them: truncated, cut in the middle, or in windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from phasefit_runtime.errors import ExportError
from phasefit_runtime.files import AGAIN
from phasefit_runtime.manifest import TokenRules

CHUNK = 4096  # texts that are tokenised together
CHUNK_CHARACTERS = 4_000_000  # limits a chunk of long texts
HEAD = 0.25  # share of the tokens from the start that `head-tail` keeps


@dataclass(frozen=True)
class Tokens:
    """The token ids of texts, concatenated. A text is one sequence, or one for each of its windows."""

    ids: np.ndarray  # of all sequences
    starts: np.ndarray  # where each sequence starts in `ids`, and where the last one ends
    first: np.ndarray  # the first sequence of each text, and the number of all sequences
    cut: np.ndarray  # whether each text was too long

    @property
    def windows(self) -> np.ndarray:
        """The number of sequences of each text."""
        return np.diff(self.first)

    @property
    def widths(self) -> np.ndarray:
        """The length of the longest sequence of each text."""
        return np.maximum.reduceat(np.diff(self.starts), self.first[:-1]) if len(self.first) > 1 else np.empty(0, int)

    @property
    def counts(self) -> np.ndarray:
        """The number of tokens of each text."""
        return np.diff(self.starts[self.first])

    def padded(self, sequences: np.ndarray, pad: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and attention mask of these sequences, (n, longest) int64; -1 is an empty sequence."""
        begin = self.starts[sequences]
        length = np.where(sequences < 0, 0, self.starts[sequences + 1] - begin)
        column = np.arange(max(int(length.max()), 1))
        real = column < length[:, None]
        if real.all():
            return self.ids[begin[:, None] + column], real.astype(np.int64)
        return np.where(real, self.ids[np.where(real, begin[:, None] + column, 0)], pad), real.astype(np.int64)


class Tokeniser:
    """Tokenises texts, or both texts of a pair as one sequence."""

    def __init__(self, file: bytes, rules: TokenRules) -> None:
        self._file, self._rules = file, rules
        self._single: Any = self._new()  # so that a damaged file is refused when a folder is loaded
        if rules.long == "head-tail":
            self._single.no_truncation()
        else:
            side = "right" if rules.long == "windows" else rules.truncation_side
            self._truncate(self._single, direction=side)
        self._added = self._single.num_special_tokens_to_add(False)
        if self._added >= rules.max_length:
            raise ExportError(f"max_length leaves no room for a text next to {self._added} special tokens; {AGAIN}")

    def texts(self, texts: Sequence[str]) -> Tokens:
        """The tokens of texts."""
        prompt = self._rules.prompt
        sequences: list[list[int]] = []
        many: list[int] = []
        cut: list[bool] = []
        for chunk in _chunks(texts):
            for encoding in _encoded(self._single, [prompt + text for text in chunk] if prompt else chunk):
                parts, lost = self._parts(encoding)
                sequences += parts
                many.append(len(parts))
                cut.append(lost)
        return _tokens(sequences, many, cut)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> Tokens:
        """The tokens of pairs, each in one sequence; if it is too long, the longer text is cut until both fit."""
        prompt, cut = self._rules.prompt, []
        sequences: list[list[int]] = []
        for start in range(0, len(pairs), CHUNK):
            chunk = [(prompt + one, other) for one, other in pairs[start : start + CHUNK]]
            for encoding in _encoded(self._joint, chunk):
                sequences.append(encoding.ids)
                cut.append(bool(encoding.overflowing))
        return _tokens(sequences, [1] * len(sequences), cut)

    @cached_property
    def _joint(self) -> Any:
        """A tokenizer of its own, because truncation is part of its state."""
        backend = self._new()
        self._truncate(backend, direction=self._rules.truncation_side, strategy="longest_first")
        return backend

    def _new(self) -> Any:
        try:
            backend = Tokenizer.from_str(self._file.decode("utf-8"))
            backend.no_padding()
            return backend
        except BaseException as error:
            if not isinstance(error, Exception) and not _is_panic(error):
                raise
            raise ExportError(f"tokenizer.json cannot be read ({str(error)[:120]}); {AGAIN}") from None

    def _truncate(self, backend: Any, **options: Any) -> None:
        try:
            backend.enable_truncation(self._rules.max_length, **options)
        except BaseException as error:
            if not isinstance(error, Exception) and not _is_panic(error):
                raise
            raise ExportError(f"max_length does not fit the tokenizer ({str(error)[:120]}); {AGAIN}") from None

    def _parts(self, encoding: Any) -> tuple[list[list[int]], bool]:
        """The sequences of a text that are kept, and whether something was cut off."""
        rules = self._rules
        if rules.long == "truncate":
            return [encoding.ids], bool(encoding.overflowing)
        if rules.long == "windows":
            windows = [encoding.ids, *(piece.ids for piece in encoding.overflowing)]
            return windows[: rules.most_windows], len(windows) > rules.most_windows
        ids, size = encoding.ids, rules.max_length
        if len(ids) <= size:
            return [ids], False
        special = encoding.special_tokens_mask
        leading, trailing = (
            next((at for at, is_special in enumerate(side) if not is_special), 0) for side in (special, special[::-1])
        )
        head = min(max(int(HEAD * size), leading + 1), size - trailing - 1)  # never cuts the special tokens
        return [ids[:head] + ids[head - size :]], True


def _tokens(sequences: list[list[int]], many: list[int], cut: list[bool]) -> Tokens:
    starts, first = np.zeros(len(sequences) + 1, dtype=np.int64), np.zeros(len(many) + 1, dtype=np.int64)
    np.cumsum([len(sequence) for sequence in sequences], out=starts[1:])
    np.cumsum(many, out=first[1:])
    ids = np.fromiter(chain.from_iterable(sequences), np.int64, int(starts[-1]))
    return Tokens(ids, starts, first, np.array(cut, dtype=bool))


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, in chunks of bounded size."""
    start = characters = 0
    for place, text in enumerate(texts):
        characters += len(text)
        if place + 1 - start >= CHUNK or characters >= CHUNK_CHARACTERS or place + 1 == len(texts):
            yield texts[start : place + 1]
            start, characters = place + 1, 0


def _encoded(backend: Any, inputs: Sequence[Any]) -> list[Any]:
    """The encodings of texts or pairs."""
    try:
        encodings: list[Any] = backend.encode_batch_fast(inputs)
    except BaseException as error:
        if not _is_panic(error):
            raise
        raise ExportError(f"the tokenizer of the model fails on a text ({str(error)[:120]}); {AGAIN}") from None
    return encodings


def _is_panic(error: BaseException) -> bool:
    """Whether the error is a panic of a Rust library, which is not an Exception and cannot be imported."""
    return type(error).__name__ == "PanicException"
