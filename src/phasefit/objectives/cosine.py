"""Cosine objective of three-phase fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from phasefit.objectives.agreement import agreement


@dataclass(frozen=True)
class Cosine:
    """Mean of `(agreement - cos(u, v))^2` (Lopez-Avila and Suarez-Paniagua, 2023).

    `even` gives every value of the agreement the same total weight inside a batch, as the paper's 1:1 sampling of
    pairs does; without it the many unlike pairs of a batch drown the few alike ones.
    """

    even: bool = False

    inputs: ClassVar[tuple[str, ...]] = ("labelled", "pairs")

    def __call__(self, embeddings: Tensor, targets: Tensor) -> Tensor:
        """Every unordered pair of the batch: (n, d) and targets -> scalar."""
        n = len(embeddings)
        if n < 2:
            return embeddings.sum() * 0.0
        z = normalize(embeddings, dim=1)
        first, second = torch.triu_indices(n, n, offset=1, device=z.device)
        similarity = (z @ z.T)[first, second]
        return self._mean(similarity, agreement(targets)[first, second])

    def pairs(self, left: Tensor, right: Tensor, target: Tensor) -> Tensor:
        """Explicit pairs: (n, d), (n, d) and their agreement (n,) -> scalar."""
        if not len(left):
            return (left.sum() + right.sum()) * 0.0
        return self._mean(cosine_similarity(left, right), target)

    def _mean(self, similarity: Tensor, target: Tensor) -> Tensor:
        target = target.to(similarity.dtype)
        error = (target - similarity) ** 2
        if not self.even:
            return error.mean()
        _, group, size = target.unique(return_inverse=True, return_counts=True)
        even: Tensor = (error / size[group]).sum() / len(size)
        return even
