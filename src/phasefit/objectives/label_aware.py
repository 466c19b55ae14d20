"""Label-aware contrastive objective: classes that are easily confused have more weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives.contract import (
    Learned,
    Objective,
    class_codes,
    full_precision,
    must_be_positive,
    weighted_mean,
)

FLOOR = 1e-30  # a softmax rounds small probabilities to 0, which has no logarithm


@dataclass(frozen=True)
class LabelAware(Objective):
    """SupCon with terms weighted by the class probabilities of a second network (Suresh and Ong, 2021).

    `class_weights` are these probabilities. The authors' code multiplies each term of an anchor by the weight of its
    class (`form = "code"`); their slides have the weight inside the logarithm (`form = "paper"`), which equals SupCon
    if all weights are equal. An anchor without a positive adds 0 to the mean over all anchors.
    """

    temperature: float = 0.3
    form: Literal["code", "paper"] = "code"

    name: ClassVar[str] = "label-aware"
    inputs: ClassVar[tuple[str, ...]] = ("labelled",)
    weighs_classes: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject invalid options, even if no recipe checks their types."""
        must_be_positive(temperature=self.temperature)
        if self.form not in ("code", "paper"):
            raise ValueError(f"form must be 'code' or 'paper', not '{self.form}'")

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Every text of the batch is an anchor; (n, classes) weights that sum to 1."""
        if learned.class_weights is None:
            raise TypeError(f"objective '{self.name}' needs class_weights (n, classes) from the weighting network")
        codes = class_codes(self.name, targets)
        (class_weights,) = full_precision(learned.class_weights)
        itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
        alike = codes[:, None] == codes[None, :]
        positive = alike & ~itself
        if not positive.any():
            return self._nothing("no two texts share a label", embeddings, class_weights)
        if alike.all():
            return self._nothing("all texts have the same label", embeddings, class_weights)
        z = normalize(embeddings, dim=1)
        similarity = z @ z.T / self.temperature
        weighed = similarity + class_weights.clamp(min=FLOOR).log()[:, codes]
        everything = weighed.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
        own = weighed if self.form == "paper" else similarity
        per_anchor = ((own - everything) * positive).sum(1) / positive.sum(1).clamp(min=1)
        if self.form == "code":
            per_anchor = per_anchor * class_weights.gather(1, codes[:, None])[:, 0]
        return -weighted_mean(per_anchor, learned.row_weights)
