"""NT-Xent: both views of all texts are compared with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives.contract import Objective, full_precision, must_be_positive, weighted_mean


@dataclass(frozen=True)
class NTXent(Objective):
    """Normalised, temperature-scaled cross-entropy over 2n views (Chen et al., 2020; Mirror-BERT, Liu et al., 2021).

    Each view has to find the other view of its text; all remaining views are its negatives. `pull = False` keeps only
    the negatives: the log-sum-exp over the 2n - 2 views of other texts, without the other view of the same text.
    """

    temperature: float = 0.04
    pull: bool = True

    name: ClassVar[str] = "nt-xent"
    inputs: ClassVar[tuple[str, ...]] = ("views",)
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject options that would produce NaN."""
        must_be_positive(temperature=self.temperature)

    def views(
        self, anchor: Tensor, positive: Tensor, negative: Tensor | None = None, *, row_weights: Tensor | None = None
    ) -> Tensor:
        """Row i of both sides holds two views of the same text."""
        if negative is not None:
            raise self._cannot("hard negatives")
        anchor, positive = full_precision(anchor, positive)
        n = len(anchor)
        if n < 2:
            return self._nothing("negatives need at least two texts", anchor, positive)
        z = normalize(torch.cat([anchor, positive]), dim=1)
        similarity = z @ z.T / self.temperature
        itself = torch.eye(2 * n, dtype=torch.bool, device=z.device)
        partner = itself.roll(n, 0)
        weights = None if row_weights is None else row_weights.repeat(2)
        if not self.pull:
            return weighted_mean(similarity.masked_fill(itself | partner, float("-inf")).logsumexp(1), weights)
        each = similarity.masked_fill(itself, float("-inf")).logsumexp(1) - similarity[partner]
        return weighted_mean(each, weights)
