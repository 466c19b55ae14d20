"""Embeddings of all processes, with gradient: in-batch objectives see the whole batch however it is spread.

> Why ours exists: `accelerator.gather` carries no gradient, and torch's own differentiable one is deprecated.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def gather(tensor: Tensor) -> Tensor:
    """Every process's rows, in rank order; the tensor itself where there is one process. Shapes must be equal."""
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
        # Each process holds the gradient of the same loss by all rows; the sum over processes, divided by their number
        # when parameters are averaged, is the gradient of one process that had the whole batch.
        total = gradient.clone(memory_format=torch.contiguous_format)  # the tensor is autograd's, and may be shared
        dist.all_reduce(total)
        first = dist.get_rank() * ctx.rows
        return total[first : first + ctx.rows]
