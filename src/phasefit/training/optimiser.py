"""AdamW with one learning rate per part of the phase, without decay on biases and norms."""

from __future__ import annotations

from typing import Any

import torch

from phasefit.errors import RecipeError
from phasefit.models.encoder.freezing import layers_above
from phasefit.phases.contract import Phase


def make_optimiser(phase: Phase) -> torch.optim.AdamW:
    """Make the optimiser; the loop sets the rate of a group to its `peak_lr` times the factor of the schedule."""
    options = phase.options
    above = layers_above(phase.encoder.transformer) if options.layer_decay < 1 else {}
    parameters_by_rate: dict[tuple[str, float, float], list[torch.nn.Parameter]] = {}
    for part, parameters in phase.groups().items():
        for parameter in parameters:
            if parameter.requires_grad:
                lr = options.lrs.get(part, options.lr) * options.layer_decay ** above.get(id(parameter), 0)
                decay = options.weight_decay if parameter.dim() > 1 else 0.0
                parameters_by_rate.setdefault((part, lr, decay), []).append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": chosen, "lr": lr, "peak_lr": lr, "weight_decay": decay, "part": part}
        for (part, lr, decay), chosen in parameters_by_rate.items()
    ]
    if not groups:
        raise RecipeError(f"{phase.name}: all parameters are frozen, so there is nothing to train; freeze fewer layers")
    # Fused: one pass over each tensor; on a CPU the default takes as long as the forward pass.
    return torch.optim.AdamW(groups, lr=options.lr, eps=options.eps, fused=True)
