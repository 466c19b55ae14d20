"""Sums over many rows with bounded memory: chunk by chunk, recomputed in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

BUDGET = 4_000_000  # numbers in the largest matrix of a chunk: 16 MB in full precision


def fits(rows: int, width: int) -> bool:
    """Whether `rows` rows of `width` numbers each fit into one chunk."""
    return rows <= max(1, BUDGET // width)


def sum_in_chunks(total: Callable[..., Tensor], rows: Tensor, *others: Tensor, width: int) -> Tensor:
    """`total(rows, *others)`, a sum over rows that need `width` numbers each."""
    size = max(1, BUDGET // width)
    if len(rows) <= size:
        return total(rows, *others)
    parts = zip(*(part.split(size) for part in (rows, *others)), strict=True)
    return sum_of_parts(total, list(parts), numbers=len(rows) * width)


def sum_of_parts(total: Callable[..., Tensor], parts: Sequence[tuple[Tensor, ...]], *, numbers: int) -> Tensor:
    """The sum of `total(*part)`; if all parts need too many `numbers`, none are kept for the backward pass."""
    if numbers <= BUDGET:
        return torch.stack([total(*part) for part in parts]).sum()
    return torch.stack(
        [checkpoint(total, *part, use_reentrant=False, preserve_rng_state=False) for part in parts]
    ).sum()
