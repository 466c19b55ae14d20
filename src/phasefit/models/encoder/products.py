"""Products of the encoder's wide linear layers on CPUs whose fast units torch does not use by itself.

- On x86, torch multiplies matrices of float32 with MKL, which reaches half the speed of oneDNN, also a part of torch,
  on CPUs of AMD. There, oneDNN is used for all products; results differ by rounding only.
- `--precision bf16` rounds the factors to bfloat16 while the encoder is trained, for CPUs with units for it.

> Why not autocast for bfloat16: it also runs attention in bfloat16, whose gradient is ten times slower on a CPU, and
> converts every tensor between layers. Here only the products of linear layers are rounded. Weights, sums, gradients
> and all other layers keep full precision, and so does an encoder that predicts.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from phasefit.process_memory import bound_primitive_cache

NARROW = 128  # inputs or outputs of a layer below which the conversions cost more than they save
CPU_INFO = Path("/proc/cpuinfo")


@cache
def mkl_is_slow() -> bool:
    """Whether torch would multiply with MKL on a CPU of AMD, and has oneDNN, too."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    return libraries and hasattr(torch.ops.mkldnn, "_linear_pointwise") and "AuthenticAMD" in _processor()


def has_bfloat16_units() -> bool:
    """Whether this CPU multiplies matrices of bfloat16 much faster than those of float32."""
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")  # private, so a later torch may lack them
    return any(bool(supported()) for name in names if (supported := getattr(torch.cpu, name, None)))


def multiply_with_onednn(transformer: nn.Module) -> None:
    """Use oneDNN for all wide linear layers on a CPU; saved files do not change."""
    bound_primitive_cache()
    _replace(transformer, _in_float32)


def train_in_bfloat16(transformer: nn.Module) -> None:
    """Multiply in bfloat16 in all wide linear layers while they are in training mode; saved files do not change."""
    _replace(transformer, _in_bfloat16)


def multiply_as_torch(transformer: nn.Module) -> None:
    """Undo both."""
    for layer in transformer.modules():
        layer.__dict__.pop("forward", None)


def _replace(transformer: nn.Module, forward: Callable[[nn.Linear, Tensor], Tensor]) -> None:
    for layer in transformer.modules():
        if type(layer) is nn.Linear and min(layer.weight.shape) >= NARROW:
            layer.forward = partial(forward, layer)  # type: ignore[method-assign]


def _in_float32(layer: nn.Linear, states: Tensor) -> Tensor:
    usable = states.dtype == torch.float32 and states.device.type == "cpu" and states.numel() and not _is_recorded()
    if not usable:
        return linear(states, layer.weight, layer.bias)
    if not torch.is_grad_enabled():
        return product(states, layer.weight, layer.bias)
    result: Tensor = _Product.apply(states, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
    return result


def _in_bfloat16(layer: nn.Linear, states: Tensor) -> Tensor:
    if not layer.training or states.dtype != torch.float32:
        return _in_float32(layer, states) if mkl_is_slow() else linear(states, layer.weight, layer.bias)
    result: Tensor = _RoundedProduct.apply(states, layer.weight)  # type: ignore[no-untyped-call]
    return result if layer.bias is None else result + layer.bias


def _is_recorded() -> bool:
    """Whether an exporter or a compiler records the layer; none of them knows oneDNN's operator."""
    traced: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return bool(traced or torch.compiler.is_compiling() or torch.compiler.is_exporting())


def product(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """states @ weight.T + bias by oneDNN; both factors may be transposed views."""
    result: Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")
    return result


class _Product(torch.autograd.Function):
    """states @ weight.T + bias and its gradients."""

    @staticmethod
    def forward(context: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(states, weight)
        return product(states, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        states, weight = context.saved_tensors
        needs_states, needs_weight, needs_bias = context.needs_input_grad
        above, below = gradient.reshape(-1, gradient.shape[-1]), states.reshape(-1, states.shape[-1])
        of_states = product(above, weight.t()).view(states.shape) if needs_states else None
        of_weight = product(above.t(), below.t()) if needs_weight else None
        return of_states, of_weight, above.sum(dim=0) if needs_bias else None


class _RoundedProduct(torch.autograd.Function):
    """states @ weight.T and its gradients, from factors that are rounded to bfloat16."""

    @staticmethod
    def forward(context: Any, states: Tensor, weight: Tensor) -> Tensor:
        left, right = states.reshape(-1, states.shape[-1]).bfloat16(), weight.bfloat16()
        context.save_for_backward(left, right)
        context.shape = states.shape
        return (left @ right.T).float().view(*states.shape[:-1], -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = context.saved_tensors
        above = gradient.reshape(-1, gradient.shape[-1]).bfloat16()
        of_states = (above @ right).float().view(context.shape) if context.needs_input_grad[0] else None
        of_weight = (above.T @ left).float() if context.needs_input_grad[1] else None
        return of_states, of_weight


def _processor() -> str:
    """The maker of the CPU, among other things."""
    try:
        return CPU_INFO.read_text(encoding="utf-8", errors="replace")[:1000]
    except OSError:
        return platform.processor()
