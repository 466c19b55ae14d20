"""Packs several texts of a batch into each row, so that the Transformer processes hardly any padding.

> Why not a library's: libraries pack for GPU kernels that know where each text ends. On any device, a mask that limits
> each token to its own text, and positions that restart with each text, give the same vectors. Each text of a mixed
> batch then costs its own tokens instead of those of the longest one.

Input and output are padded features: the layers after the Transformer need no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from phasefit.models.tokens.tokens import Features

# Families whose attention depends only on the mask (no relative positions, no windows) and that accept `position_ids`.
FAMILIES = frozenset({"albert", "bert", "camembert", "electra", "roberta", "xlm-roberta"})
# The least and the greatest width of rows of short texts, and the step between widths: wide enough to be filled, narrow
# enough for attention, which covers the whole row, to stay cheap. The width with the fewest cells wins.
WIDTHS = (32, 64, 4)
WIDEST = 384
WORTH = 0.95  # pack only if at most this share of the work remains


class Packing:
    """Runs the first module of an encoder on packed rows, if its family supports this and it saves work."""

    def __init__(self, transformer: Any) -> None:
        config = transformer.config
        family, kernel = getattr(config, "model_type", ""), getattr(config, "_attn_implementation", "")
        every_layer = getattr(config, "output_hidden_states", False)  # some poolings use all layers
        self.works = family in FAMILIES and kernel == "sdpa" and not every_layer
        embeddings = getattr(transformer, "embeddings", None)
        before = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
        self._first_position = 0 if before is None else before + 1
        self._off = 0

    @contextmanager
    def off(self) -> Iterator[None]:
        """Disable packing for code that needs one text per row of the Transformer's input."""
        self._off += 1
        try:
            yield
        finally:
            self._off -= 1

    def run(self, module: Callable[[Features], Features], features: Features) -> Features:
        """The module's output for these features, computed on packed rows if this saves work."""
        rows = self._rows(features)
        if rows is None:
            return module(dict(features))
        row, offset, count, width = rows
        mask = features["attention_mask"].bool()
        device = mask.device
        begin = torch.from_numpy(row * width + offset).to(device)
        column = torch.arange(mask.shape[1], device=device)
        place = (begin[:, None] + column)[mask]  # the cell of each real token
        ids = torch.zeros(count * width, dtype=torch.long, device=device)
        ids[place] = features["input_ids"][mask]
        position = torch.full_like(ids, self._first_position)
        position[place] += column.expand_as(mask)[mask]
        text = torch.full_like(ids, -1)  # empty cells attend to each other: every cell needs something to attend to
        text[place] = torch.arange(len(mask), device=device)[:, None].expand_as(mask)[mask]
        text = text.view(count, 1, width)
        packed = {
            "input_ids": ids.view(count, width),
            "position_ids": position.view(count, width),
            "attention_mask": text[..., None] == text[:, :, None],
        }
        states = module(packed)["token_embeddings"].flatten(0, 1)
        spread = states.new_zeros(*mask.shape, states.shape[-1])
        spread[mask] = states[place]
        return {**features, "token_embeddings": spread}

    def _rows(self, features: Features) -> tuple[np.ndarray, np.ndarray, int, int] | None:
        """The rows to pack these features into; None to leave them unpacked."""
        if not self.works or self._off or set(features) != {"input_ids", "attention_mask"}:
            return None
        mask = features["attention_mask"]
        return rows_for(mask.sum(dim=1).cpu().numpy(), mask.numel())


def rows_for(lengths: np.ndarray, padded: int) -> tuple[np.ndarray, np.ndarray, int, int] | None:
    """The row and the offset of each text, the number of rows and their width; None if packing is not worth it.

    `padded` is the number of cells of the unpacked batch.
    """
    if lengths.sum() > WORTH * padded or not lengths.any():
        return None
    longest = int(lengths.max())
    best = None
    for width in _widths(longest):
        row, offset, count = pack(lengths, width)
        wide = int((offset + lengths).max())  # trims the unused end of the rows
        if best is None or count * wide < best[2] * best[3]:
            best = (row, offset, count, wide)
    return best if best is not None and best[2] * best[3] <= WORTH * padded else None


def _widths(longest: int) -> list[int]:
    """The widths to try: several for short texts; for longer ones 1 to 3 times the longest, up to WIDEST."""
    few = list(range(max(longest, WIDTHS[0]), WIDTHS[1] + 1, WIDTHS[2]))
    return few or [longest, *(wide for quarters in range(5, 13) if (wide := quarters * longest // 4) <= WIDEST)]


def pack(lengths: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Best fit, longest first: the row and the offset of each length, and the number of rows of this width."""
    room: list[list[int]] = [[] for _ in range(width + 1)]  # rows by their free room
    row, offset = np.zeros(len(lengths), dtype=np.int64), np.zeros(len(lengths), dtype=np.int64)
    count = 0
    for text in np.argsort(-lengths, kind="stable").tolist():
        length = int(lengths[text])
        free = next((left for left in range(length, width + 1) if room[left]), None)
        if free is None:
            row[text], left = count, width
            count += 1
        else:
            row[text], left = room[free].pop(), free
        offset[text] = width - left
        room[left - length].append(int(row[text]))
    return row, offset, count
