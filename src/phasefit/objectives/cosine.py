"""Cosine objective of three-phase fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from phasefit.objectives.agreement import agreement
from phasefit.objectives.contract import Learned, Objective, full_precision, of_pairs, weighted_mean


@dataclass(frozen=True)
class Cosine(Objective):
    """Mean of `(agreement - cos(u, v))^2` (Lopez-Avila and Suarez-Paniagua, 2023).

    `even` gives every value of the agreement the same total weight within a batch, as the paper's 1:1 sampling of
    pairs does; without it the many negative pairs of a batch outweigh the few positive ones.
    """

    even: bool = False

    name: ClassVar[str] = "cosine"
    inputs: ClassVar[tuple[str, ...]] = ("labelled", "pairs")
    graded: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Every unordered pair of the batch."""
        n = len(embeddings)
        if n < 2:
            return self._nothing("a pair needs two texts", embeddings)
        z = normalize(embeddings, dim=1)
        first, second = torch.triu_indices(n, n, offset=1, device=z.device)
        similarity = (z @ z.T)[first, second]
        return self._mean(similarity, agreement(targets)[first, second], of_pairs(learned.row_weights, first, second))

    def pairs(self, left: Tensor, right: Tensor, target: Tensor, *, row_weights: Tensor | None = None) -> Tensor:
        """Explicit pairs and their agreement."""
        left, right = full_precision(left, right)
        if not len(left):
            return self._nothing("there are no pairs", left, right)
        return self._mean(cosine_similarity(left, right), target, row_weights)

    def _mean(self, similarity: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
        target = target.to(similarity.dtype)
        error = (target - similarity) ** 2
        if not self.even:
            return weighted_mean(error, weights)
        _, group, size = target.unique(return_inverse=True, return_counts=True)
        error = error if weights is None else error * weights.to(error.dtype)
        mean: Tensor = (error / size[group]).sum() / len(size)
        return mean
