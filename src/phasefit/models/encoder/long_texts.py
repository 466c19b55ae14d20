"""Texts with more tokens than the Transformer supports: truncated, cut in the middle, or read in windows.

The windows of a text are stored one after the other, each with its special tokens; every `size` tokens the next one
starts. They are separated before the Transformer and joined after it, so pooling combines the states of all windows of
a text into one vector. Importing this file does not import torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from phasefit.models.tokens.tokens import Features

Long: TypeAlias = Literal["truncate", "head-tail", "windows"]
WAYS: tuple[Long, ...] = ("truncate", "head-tail", "windows")
MOST_WINDOWS = 16  # per text; the rest is cut off, so that one very long text cannot use all memory
HEAD = 0.25  # share of the tokens from the start: reviews and posts often conclude at the end (Sun et al., 2019)


@dataclass(frozen=True)
class Pieces:
    """The tokens of a text from several encodings, with the fields of an encoding that `tokenising.flat` uses."""

    ids: list[int]
    special_tokens_mask: list[int]
    offsets: list[tuple[int, int]]
    lost: int

    def __len__(self) -> int:
        return len(self.ids)


def prepare(backend: Any, way: Long, size: int, side: str) -> None:
    """Configure a `tokenizers.Tokenizer` for one of the ways."""
    if way == "head-tail":
        backend.no_truncation()
    else:
        backend.enable_truncation(size, direction="right" if way == "windows" else side)


def pieces(encoding: Any, way: Long, size: int, added: int) -> Pieces:
    """The part of a text's encoding that is kept; each window has `added` special tokens."""
    if way == "windows":
        every = [encoding, *encoding.overflowing]
        kept, lost = every[:MOST_WINDOWS], sum(len(piece) - added for piece in every[MOST_WINDOWS:])
        parts = [(piece, slice(None)) for piece in kept]
    else:
        lost = max(len(encoding) - size, 0)
        special = encoding.special_tokens_mask
        leading, trailing = (
            next((at for at, is_special in enumerate(side) if not is_special), 0) for side in (special, special[::-1])
        )
        head = min(max(int(HEAD * size), leading + 1), size - trailing - 1)  # never cuts the special tokens
        whole = [(encoding, slice(None))]
        parts = [(encoding, slice(0, head)), (encoding, slice(head - size, None))] if lost else whole
    return Pieces(
        [number for piece, part in parts for number in piece.ids[part]],
        [number for piece, part in parts for number in piece.special_tokens_mask[part]],
        [span for piece, part in parts for span in piece.offsets[part]],
        lost,
    )


def windows_of(lengths: np.ndarray, size: int) -> int:
    """The total number of windows of texts of these lengths."""
    return int((-(-lengths // size)).sum())


def in_windows(run: Callable[[Features], Features], features: Features, size: int) -> Features:
    """The Transformer's output for texts of any length, in windows of `size` tokens."""
    from torch.nn.functional import pad

    mask = features["attention_mask"]
    rows, width = mask.shape
    if width <= size:
        return run(features)
    count = -(-width // size)
    padding = (0, count * size - width)
    windows = {name: pad(value, padding).view(rows * count, size) for name, value in features.items()}
    used = windows["attention_mask"].any(dim=1)
    states = run({name: value[used] for name, value in windows.items()})["token_embeddings"]
    joined = states.new_zeros(rows * count, size, states.shape[-1])
    joined[used, : states.shape[1]] = states
    return {**features, "token_embeddings": joined.view(rows, count * size, -1)[:, :width]}
