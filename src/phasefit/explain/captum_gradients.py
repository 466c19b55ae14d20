"""Integrated gradients, computed by captum. The only file that imports captum."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from phasefit.errors import MissingExtra

if TYPE_CHECKING:
    from torch import Tensor


def is_installed() -> bool:
    """Whether captum can be imported, without importing it."""
    return find_spec("captum") is not None


def need_captum() -> None:
    """Raise if captum is not installed."""
    if not is_installed():
        raise MissingExtra(
            "--method gradients needs captum; install it with: pip install 'phasefit[explain]', or use --method "
            "occlusion"
        )


def integrated_gradients(
    function: Callable[[Tensor], Tensor], inputs: Tensor, baseline: Tensor, *, steps: int, at_once: int
) -> Tensor:
    """The gradients of `function` (n, ...) -> (n,), integrated from the baseline to the inputs; same shape as inputs.

    They add up to the difference of the function at both ends, apart from the error of the integration.
    """
    from captum.attr import IntegratedGradients

    method: Any = IntegratedGradients(function)
    gradients: Tensor = method.attribute(inputs, baselines=baseline, n_steps=steps, internal_batch_size=at_once)
    return gradients
