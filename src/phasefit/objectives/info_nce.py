"""InfoNCE, also known as multiple negatives ranking: find the positive of each anchor within the batch."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from phasefit.objectives.contract import Objective, full_precision, must_be_positive, weighted_mean


@dataclass(frozen=True)
class InfoNCE(Objective):
    """Cross-entropy of `cos(anchor, candidate) / temperature` (van den Oord et al., 2018; Gao et al., 2021).

    The candidates of an anchor are all positives of the batch and, if given, all hard negatives;
    `hard_negative_weight` is added to the logit of the anchor's own hard negative. `directions = "both"` averages this
    with the reverse direction, from positives to anchors, which uses no hard negatives.
    """

    temperature: float = 0.05
    directions: Literal["one", "both"] = "one"
    hard_negative_weight: float = 0.0

    name: ClassVar[str] = "info-nce"
    inputs: ClassVar[tuple[str, ...]] = ("views",)
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject invalid options, even if no recipe checks their types."""
        must_be_positive(temperature=self.temperature)
        if self.directions not in ("one", "both"):
            raise ValueError(f"directions must be 'one' or 'both', not '{self.directions}'")
        if not isfinite(self.hard_negative_weight):
            raise ValueError("the hard_negative_weight must be a finite number")

    def views(
        self, anchor: Tensor, positive: Tensor, negative: Tensor | None = None, *, row_weights: Tensor | None = None
    ) -> Tensor:
        """Row i of the anchors belongs to row i of the positives."""
        anchor, positive = full_precision(anchor, positive)
        if len(anchor) < 2 and (negative is None or not len(anchor)):
            return self._nothing("negatives need at least two rows", anchor, positive)
        z, others = normalize(anchor, dim=1), normalize(positive, dim=1)
        own = torch.arange(len(z), device=z.device)
        forward = similarity = z @ others.T / self.temperature
        if negative is not None:
            forward = torch.cat([forward, self._hard(z, negative)], 1)
        loss = _mean(forward, own, row_weights)
        if self.directions == "both":
            loss = (loss + _mean(similarity.T, own, row_weights)) / 2
        return loss

    def _hard(self, z: Tensor, negative: Tensor) -> Tensor:
        (negative,) = full_precision(negative)
        similarity = z @ normalize(negative, dim=1).T / self.temperature
        return similarity + self.hard_negative_weight * torch.eye(len(z), dtype=z.dtype, device=z.device)


def _mean(logits: Tensor, own: Tensor, weights: Tensor | None) -> Tensor:
    if weights is None:
        return cross_entropy(logits, own)
    return weighted_mean(cross_entropy(logits, own, reduction="none"), weights)


@dataclass(frozen=True)
class MultipleNegatives(InfoNCE):
    """InfoNCE under its usual name for text pairs (Henderson et al., 2017)."""

    name: ClassVar[str] = "multiple-negatives"
