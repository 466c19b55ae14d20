"""AdamW with a learning rate per part of the phase and no decay on biases and norms."""

from __future__ import annotations

from typing import Any

import torch

from phasefit.errors import RecipeError
from phasefit.phases.contract import Phase


def make_optimiser(phase: Phase) -> torch.optim.AdamW:
    """Each group keeps its own peak as `peak_lr`; the loop multiplies it with the schedule's factor."""
    options = phase.options
    parts = phase.groups()
    groups: list[dict[str, Any]] = []
    for part, parameters in parts.items():
        lr = options.lrs.get(part, options.lr)
        for decay, wanted in ((options.weight_decay, True), (0.0, False)):
            chosen = [p for p in parameters if p.requires_grad and (p.dim() > 1) is wanted]
            if chosen:
                groups.append({"params": chosen, "lr": lr, "peak_lr": lr, "weight_decay": decay, "part": part})
    if not groups:
        raise RecipeError(f"{phase.name}: nothing is left to train; is everything frozen?")
    # Fused: one pass over each tensor; on a CPU the plain one takes as long as the whole forward pass.
    return torch.optim.AdamW(groups, lr=options.lr, eps=options.eps, fused=True)
