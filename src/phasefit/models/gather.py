"""Embeddings of all processes, with gradients, so that in-batch objectives see the whole batch.

> Why not a library's: `accelerator.gather` has no gradient, and torch's differentiable version is deprecated.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def gather(tensor: Tensor) -> Tensor:
    """The rows of all processes in rank order; with one process, the tensor itself. Shapes must be equal."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return tensor
    if tensor.requires_grad:
        gathered: Tensor = _Gather.apply(tensor)  # type: ignore[no-untyped-call]
        return gathered
    return _collect(tensor)


def _collect(tensor: Tensor) -> Tensor:
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor.contiguous())
    return torch.cat(parts)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.rows = len(tensor)
        return _collect(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        # Each process holds the gradient of the same loss with respect to all rows. Their sum, divided by the number of
        # processes when parameters are averaged, equals the gradient of a single process with the whole batch.
        total = gradient.clone(memory_format=torch.contiguous_format)  # autograd owns the tensor and may share it
        dist.all_reduce(total)
        first = dist.get_rank() * ctx.rows
        return total[first : first + ctx.rows]
