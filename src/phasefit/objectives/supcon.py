"""Supervised contrastive objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives.agreement import agreement, same_so_far
from phasefit.objectives.contract import Learned, Objective, must_be_positive, must_be_share, weighted_mean


@dataclass(frozen=True)
class SupCon(Objective):
    """Supervised contrastive loss (Khosla et al., 2020); with several labels, positives are weighted by Jaccard index.

    For trees it averages this loss over whole paths and, with a share of `upper_levels`, over each level above. Weights
    by agreement alone would hurt: siblings are many, and half a weight each outweighs the few texts of the same path.
    With probabilities of classes, positives are weighted by the probability that both texts have the same class. An
    anchor without a positive in the batch is skipped instead of producing NaN.
    """

    temperature: float = 0.1
    upper_levels: float = 0.2

    name: ClassVar[str] = "supcon"
    inputs: ClassVar[tuple[str, ...]] = ("labelled",)
    graded: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject options that would produce NaN."""
        must_be_positive(temperature=self.temperature)
        must_be_share(upper_levels=self.upper_levels)

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Every text of the batch is an anchor."""
        itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
        agreements = agreement(targets)
        if bool(((agreements == 1) | itself).all()):
            return self._nothing("all texts have the same label", embeddings)
        is_tree = targets.dim() == 2 and targets.shape[1] > 1 and targets.dtype in (torch.int32, torch.int64)
        weight = self._by_level(targets, itself) if is_tree else agreements.masked_fill(itself, 0.0)
        weight = weight.to(embeddings.dtype)
        mass = weight.sum(1)
        used = mass > 0
        if not used.any():
            return self._nothing("no two texts share a label", embeddings)
        z = normalize(embeddings, dim=1)
        logits = (z @ z.T / self.temperature).masked_fill(itself, float("-inf"))
        log_prob = (logits - logits.logsumexp(1, keepdim=True)).masked_fill(itself, 0.0)
        anchors = None if learned.row_weights is None else learned.row_weights[used]
        return weighted_mean(-(weight * log_prob).sum(1)[used] / mass[used], anchors)

    def _by_level(self, paths: Tensor, itself: Tensor) -> Tensor:
        """(n, levels) -> (n, n): the share of each level is split evenly among the texts that match down to it."""
        same = same_so_far(paths[:, None], paths[None, :]).masked_fill(itself[..., None], 0).double()
        each = same / same.sum(1, keepdim=True).clamp(min=1)
        return (1 - self.upper_levels) * each[..., -1] + self.upper_levels * each[..., :-1].mean(-1)
