"""Supervised contrastive objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives.agreement import agreement
from phasefit.objectives.checks import must_be_positive
from phasefit.objectives.contract import Learned, Objective


@dataclass(frozen=True)
class SupCon(Objective):
    """Supervised contrastive loss (Khosla et al., 2020); agreements between 0 and 1 weigh the positives of trees.

    An anchor without a positive in the batch is left out, not NaN.
    """

    temperature: float = 0.1

    name: ClassVar[str] = "supcon"
    inputs: ClassVar[tuple[str, ...]] = ("labelled",)
    graded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what can only give NaN."""
        must_be_positive(temperature=self.temperature)

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Every text of the batch is an anchor."""
        itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
        weight = agreement(targets).to(embeddings.dtype).masked_fill(itself, 0.0)
        mass = weight.sum(1)
        used = mass > 0
        if not used.any():
            return self._nothing("no two texts share a label", embeddings)
        if bool(((weight == 1) | itself).all()):
            return self._nothing("all texts have the same label", embeddings)
        z = normalize(embeddings, dim=1)
        logits = (z @ z.T / self.temperature).masked_fill(itself, float("-inf"))
        log_prob = (logits - logits.logsumexp(1, keepdim=True)).masked_fill(itself, 0.0)
        return (-(weight * log_prob).sum(1)[used] / mass[used]).mean()
