"""InfoNCE, also known as multiple negatives ranking: find one's partner among those of the whole batch."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from phasefit.objectives.contract import Objective, full_precision, must_be_positive


@dataclass(frozen=True)
class InfoNCE(Objective):
    """Cross-entropy of `cos(anchor, candidate) / temperature` (van den Oord et al., 2018; Gao et al., 2021).

    The candidates of an anchor are all positives of the batch and, where given, all hard negatives;
    `hard_negative_weight` is added to the logit of its own. `directions = "both"` averages with the search of each
    positive for its anchor; hard negatives, being those of anchors, take no part in that one.
    """

    temperature: float = 0.05
    directions: Literal["one", "both"] = "one"
    hard_negative_weight: float = 0.0

    name: ClassVar[str] = "info-nce"
    inputs: ClassVar[tuple[str, ...]] = ("views",)

    def __post_init__(self) -> None:
        """Refuse what cannot work, also where no recipe checks the types."""
        must_be_positive(temperature=self.temperature)
        if self.directions not in ("one", "both"):
            raise ValueError(f"directions is 'one' or 'both', not '{self.directions}'")
        if not isfinite(self.hard_negative_weight):
            raise ValueError("the hard_negative_weight must be a number")

    def views(self, anchor: Tensor, positive: Tensor, negative: Tensor | None = None) -> Tensor:
        """Row i of the anchors belongs to row i of the positives."""
        anchor, positive = full_precision(anchor, positive)
        if len(anchor) < 2 and (negative is None or not len(anchor)):
            return self._nothing("fewer than two rows have no negatives", anchor, positive)
        z, others = normalize(anchor, dim=1), normalize(positive, dim=1)
        own = torch.arange(len(z), device=z.device)
        there = back = z @ others.T / self.temperature
        if negative is not None:
            there = torch.cat([there, self._hard(z, negative)], 1)
        loss = cross_entropy(there, own)
        if self.directions == "both":
            loss = (loss + cross_entropy(back.T, own)) / 2
        return loss

    def _hard(self, z: Tensor, negative: Tensor) -> Tensor:
        (negative,) = full_precision(negative)
        similarity = z @ normalize(negative, dim=1).T / self.temperature
        return similarity + self.hard_negative_weight * torch.eye(len(z), dtype=z.dtype, device=z.device)


@dataclass(frozen=True)
class MultipleNegatives(InfoNCE):
    """InfoNCE under the name that it has for pairs of texts (Henderson et al., 2017)."""

    name: ClassVar[str] = "multiple-negatives"
