"""Supervised contrastive objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives.agreement import agreement


@dataclass(frozen=True)
class SupCon:
    """Supervised contrastive loss (Khosla et al., 2020); agreements between 0 and 1 weigh the positives of trees.

    An anchor without a positive in the batch is left out, not NaN.
    """

    temperature: float = 0.1

    inputs: ClassVar[tuple[str, ...]] = ("labelled",)

    def __post_init__(self) -> None:
        """Refuse what can only give NaN."""
        if not 0 < self.temperature < float("inf"):
            raise ValueError("the temperature must be greater than 0")

    def __call__(self, embeddings: Tensor, targets: Tensor) -> Tensor:
        """Every text of the batch is an anchor: (n, d) and targets -> scalar."""
        z = normalize(embeddings, dim=1)
        itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
        logits = (z @ z.T / self.temperature).masked_fill(itself, float("-inf"))
        log_prob = (logits - logits.logsumexp(1, keepdim=True)).masked_fill(itself, 0.0)
        weight = agreement(targets).to(z.dtype).masked_fill(itself, 0.0)
        mass = weight.sum(1)
        used = mass > 0
        if not used.any():
            return embeddings.sum() * 0.0
        return (-(weight * log_prob).sum(1)[used] / mass[used]).mean()
