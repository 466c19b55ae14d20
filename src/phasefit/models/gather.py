"""Embeddings of all processes, with gradients, so that in-batch objectives see the whole batch.

> Why not a library's: `accelerator.gather` has no gradient, and torch's differentiable version is deprecated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def gather(tensor: Tensor, sizes: Sequence[int] | None = None) -> Tensor:
    """The rows of all processes in rank order; with one process, the tensor itself.

    `sizes` is the number of rows of each process; further rows of a tensor are left out. Without it, all processes must
    have the same number.
    """
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return tensor
    sizes = [len(tensor)] * dist.get_world_size() if sizes is None else list(sizes)
    own = tensor[: sizes[dist.get_rank()]]
    if own.requires_grad:
        gathered: Tensor = _Gather.apply(own, sizes)  # type: ignore[no-untyped-call]
        return gathered
    return _collect(own, sizes)


def _collect(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """The parts have to be of one size while they are exchanged."""
    padded = tensor.new_zeros(max(sizes), *tensor.shape[1:])
    padded[: len(tensor)] = tensor
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        ctx.sizes = sizes
        return _collect(tensor, sizes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        # Each process holds the gradient of the same loss with respect to all rows. Their sum, divided by the number of
        # processes when parameters are averaged, equals the gradient of a single process with the whole batch.
        total = gradient.clone(memory_format=torch.contiguous_format)  # autograd owns the tensor and may share it
        dist.all_reduce(total)
        rank = dist.get_rank()
        first = sum(ctx.sizes[:rank])
        return total[first : first + ctx.sizes[rank]], None
