"""Vectors of several parts under each other; token states are brought to one length first."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from phasefit.phases.contract import Encoded


def stacked(parts: Sequence[Encoded]) -> Encoded:
    """Each name's tensors along the first axis; a mask says what of the states is real."""
    return {name: torch.cat(_of_one_length(name, [part[name] for part in parts])) for name in parts[0]}


def _of_one_length(name: str, tensors: list[Tensor]) -> list[Tensor]:
    if not name.startswith(("states", "mask")):
        return tensors
    longest = max(tensor.shape[1] for tensor in tensors)
    tail = [0, 0] if name.startswith("states") else []
    return [pad(tensor, [*tail, 0, longest - tensor.shape[1]]) for tensor in tensors]
