"""Training on CPUs with products in bfloat16, where the CPU has units for them (Intel AMX).

> Why not autocast: it also runs attention in bfloat16, whose gradient is ten times slower on a CPU, and converts every
> tensor between layers. Here only the products of linear layers are rounded. Weights, sums, gradients and all other
> layers keep full precision, and so does an encoder that predicts.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

NARROW = 128  # inputs or outputs of a layer below which the conversions cost more than they save


def has_bfloat16_units() -> bool:
    """Whether this CPU multiplies matrices of bfloat16 much faster than those of float32."""
    supported = getattr(torch.cpu, "_is_amx_tile_supported", None)  # private, so a later torch may lack it
    return bool(supported is not None and supported())


def train_in_bfloat16(transformer: nn.Module) -> None:
    """Multiply in bfloat16 in all wide linear layers while they are in training mode; saved files do not change."""
    for layer in transformer.modules():
        if type(layer) is nn.Linear and min(layer.weight.shape) >= NARROW:
            layer.forward = partial(_forward, layer)  # type: ignore[method-assign]


def _forward(layer: nn.Linear, states: Tensor) -> Tensor:
    if not layer.training or states.dtype != torch.float32:
        return linear(states, layer.weight, layer.bias)
    product: Tensor = _Product.apply(states, layer.weight)  # type: ignore[no-untyped-call]
    return product if layer.bias is None else product + layer.bias


class _Product(torch.autograd.Function):
    """states @ weight.T and its gradients, from factors that are rounded to bfloat16."""

    @staticmethod
    def forward(context: Any, states: Tensor, weight: Tensor) -> Tensor:
        left, right = states.reshape(-1, states.shape[-1]).bfloat16(), weight.bfloat16()
        context.save_for_backward(left, right)
        context.shape = states.shape
        return (left @ right.T).float().view(*states.shape[:-1], -1)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = context.saved_tensors
        above = gradient.reshape(-1, gradient.shape[-1]).bfloat16()
        of_states = (above @ right).float().view(context.shape) if context.needs_input_grad[0] else None
        of_weight = (above.T @ left).float() if context.needs_input_grad[1] else None
        return of_states, of_weight
