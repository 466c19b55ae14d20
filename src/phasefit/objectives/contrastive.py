"""Contrastive objective with a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from phasefit.objectives.agreement import agreement
from phasefit.objectives.contract import (
    Learned,
    Objective,
    full_precision,
    must_be_positive,
    of_pairs,
    weighted_mean,
)
from phasefit.objectives.distances import safe_root, squared_distances, squared_distances_of_rows


@dataclass(frozen=True)
class Contrastive(Objective):
    """Mean over pairs of `a*D^2 + (1 - a)*max(0, margin - D)^2` (Hadsell et al., 2006), `a` being their agreement.

    D is the distance of the normalised vectors, at most 2: with a larger margin, pairs are always pushed apart.
    """

    margin: float = 1.0

    name: ClassVar[str] = "contrastive"
    inputs: ClassVar[tuple[str, ...]] = ("labelled", "pairs")
    graded: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Without a margin nothing is pushed apart, and all vectors collapse into one."""
        must_be_positive(margin=self.margin)

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Every unordered pair of the batch."""
        n = len(embeddings)
        if n < 2:
            return self._nothing("a pair needs two texts", embeddings)
        first, second = torch.triu_indices(n, n, offset=1, device=embeddings.device)
        squared = squared_distances(embeddings, embeddings)[first, second]
        return self._mean(squared, agreement(targets)[first, second], of_pairs(learned.row_weights, first, second))

    def pairs(self, left: Tensor, right: Tensor, target: Tensor, *, row_weights: Tensor | None = None) -> Tensor:
        """Explicit pairs and their agreement."""
        left, right = full_precision(left, right)
        if not len(left):
            return self._nothing("there are no pairs", left, right)
        return self._mean(squared_distances_of_rows(left, right), target, row_weights)

    def _mean(self, squared: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
        target = target.to(squared.dtype)
        push = (self.margin - safe_root(squared)).clamp(min=0).square()
        return weighted_mean(target * squared + (1 - target) * push, weights)
