"""What becomes of a text with more tokens than the Transformer takes: cut, cut in the middle, or read in windows.

Windows lie end to end among a text's stored tokens, each complete with its special ones: every `size` tokens begins the
next. They are taken apart in front of the Transformer and put together behind it, so that pooling sees the states of
all windows of a text and makes one vector of them. Importing this file imports no torch.
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
MOST_WINDOWS = 16  # of one text; what lies behind is cut off, so that one endless text cannot take all memory
HEAD = 0.25  # of the tokens are from the beginning: reviews and posts tell what matters at the end (Sun et al., 2019)


@dataclass(frozen=True)
class Pieces:
    """A text's tokens out of several encodings, with what `tokenising.flat` asks of an encoding."""

    ids: list[int]
    special_tokens_mask: list[int]
    offsets: list[tuple[int, int]]
    lost: int

    def __len__(self) -> int:
        return len(self.ids)


def prepare(backend: Any, way: Long, size: int, side: str) -> None:
    """Set a `tokenizers.Tokenizer` up for one of the ways."""
    if way == "head-tail":
        backend.no_truncation()
    else:
        backend.enable_truncation(size, direction="right" if way == "windows" else side)


def pieces(encoding: Any, way: Long, size: int, added: int) -> Pieces:
    """What is kept of a text's encoding; `added` special tokens are in each window."""
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
        head = min(max(int(HEAD * size), leading + 1), size - trailing - 1)  # what is put around a text is never cut
        whole = [(encoding, slice(None))]
        parts = [(encoding, slice(0, head)), (encoding, slice(head - size, None))] if lost else whole
    return Pieces(
        [number for piece, part in parts for number in piece.ids[part]],
        [number for piece, part in parts for number in piece.special_tokens_mask[part]],
        [span for piece, part in parts for span in piece.offsets[part]],
        lost,
    )


def windows_of(lengths: np.ndarray, size: int) -> int:
    """How many windows texts of these lengths take in all."""
    return int((-(-lengths // size)).sum())


def in_windows(run: Callable[[Features], Features], features: Features, size: int) -> Features:
    """The Transformer's output for texts of any length, of which it sees `size` tokens at once."""
    from torch.nn.functional import pad

    mask = features["attention_mask"]
    rows, width = mask.shape
    if width <= size:
        return run(features)
    count = -(-width // size)
    room = (0, count * size - width)
    apart = {name: pad(value, room).view(rows * count, size) for name, value in features.items()}
    used = apart["attention_mask"].any(dim=1)
    states = run({name: value[used] for name, value in apart.items()})["token_embeddings"]
    spread = states.new_zeros(rows * count, size, states.shape[-1])
    spread[used, : states.shape[1]] = states
    return {**features, "token_embeddings": spread.view(rows, count * size, -1)[:, :width]}
