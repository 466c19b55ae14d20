"""SoftTriple objective: several learned centres per class, for sentence vectors or for all token states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, one_hot

from phasefit.objectives.chunks import fits, sum_in_chunks, sum_of_parts
from phasefit.objectives.contract import (
    Learned,
    Objective,
    class_codes,
    full_precision,
    must_be_positive,
    must_not_be_negative,
)

SLACK = 1e-5  # as in the original: keeps the gradient of the root finite if two centres are equal


@dataclass(frozen=True)
class SoftTriple(Objective):
    """Cross-entropy of the similarities to each class's centres (Qian et al., 2019; tokens: TripleEntropy, 2021).

    `scale` multiplies the similarities (lambda), `gamma` smooths the choice among the `centres` of a class, `margin`
    (delta) is subtracted for the true class, `regulariser` (tau) is the weight of the term that merges unneeded
    centres. The loss itself comes from pytorch-metric-learning, always in full precision.
    """

    centres: int = 10
    scale: float = 20.0
    gamma: float = 0.1
    margin: float = 0.01
    regulariser: float = 0.2

    name: ClassVar[str] = "soft-triple"
    inputs: ClassVar[tuple[str, ...]] = ("labelled", "tokens")
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject invalid options."""
        must_be_positive(centres=self.centres, scale=self.scale, gamma=self.gamma)
        must_not_be_negative(margin=self.margin, regulariser=self.regulariser)

    def parameters(self, classes: int, dimension: int) -> nn.Module:
        """The centres: `fc` (dimension, classes * centres)."""
        from pytorch_metric_learning.losses import SoftTripleLoss  # type: ignore[import-untyped]

        loss: nn.Module = SoftTripleLoss(
            num_classes=classes,
            embedding_size=dimension,
            centers_per_class=self.centres,
            la=self.scale,
            gamma=self.gamma,
            margin=self.margin,
        )
        return loss

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Compares every text with all centres."""
        return self._loss(embeddings, class_codes(self.name, targets), learned.parameters, learned.row_weights)

    def tokens(
        self,
        states: Tensor,
        mask: Tensor,
        targets: Tensor,
        *,
        parameters: nn.Module | None = None,
        row_weights: Tensor | None = None,
    ) -> Tensor:
        """Compares every real token with all centres; a token has the label of its text."""
        real = mask.bool()
        codes = class_codes(self.name, targets)[:, None].expand(real.shape)
        weights = None if row_weights is None else row_weights[:, None].expand(real.shape)[real]
        return self._loss(states[real], codes[real], parameters, weights)

    def _loss(self, rows: Tensor, codes: Tensor, parameters: nn.Module | None, weights: Tensor | None) -> Tensor:
        if not isinstance(getattr(parameters, "fc", None), nn.Parameter):
            raise TypeError(f"objective '{self.name}' needs the centres that its method `parameters` creates")
        centres: Any = parameters
        (rows,) = full_precision(rows)
        if centres.num_classes < 2:
            return self._nothing("there is only one class", rows, centres.fc)
        if not len(rows):
            return self._nothing("the batch is empty", rows, centres.fc)

        with torch.autocast(rows.device.type, enabled=False):
            if fits(len(rows), width := centres.fc.shape[1]) and weights is None:
                loss: Tensor = centres(rows, codes)
            else:
                unit = normalize(centres.fc, dim=0)  # once: the library would normalise again for every chunk
                total = partial(self._total, centres=unit, classes=centres.num_classes)
                weighted = () if weights is None else (weights,)
                loss = sum_in_chunks(total, rows, codes, *weighted, width=width) / len(rows)
            if self.regulariser and self.centres > 1:
                loss = loss + self.regulariser * self._spread(centres.fc)
        return loss

    def _total(
        self, rows: Tensor, codes: Tensor, weights: Tensor | None = None, *, centres: Tensor, classes: int
    ) -> Tensor:
        """The library's loss, summed over a chunk, for centres that are already normalised."""
        similarity = (normalize(rows, dim=1) @ centres.to(rows.dtype)).view(len(rows), classes, self.centres)
        nearest = ((similarity / self.gamma).softmax(2) * similarity).sum(2)
        own = self.margin * one_hot(codes, classes).to(rows.dtype)
        logits = self.scale * (nearest - own)
        if weights is None:
            return cross_entropy(logits, codes, reduction="sum")
        return (cross_entropy(logits, codes, reduction="none") * weights.to(logits.dtype)).sum()

    def _spread(self, fc: Tensor) -> Tensor:
        """Half the mean distance between centres of a class, as in the original; class by class to bound memory."""
        by_class = normalize(fc, dim=0).T.split(self.centres)
        pairs = len(by_class) * self.centres * (self.centres - 1)
        return sum_of_parts(_distances, [(centres,) for centres in by_class], numbers=pairs) / pairs


def _distances(centres: Tensor) -> Tensor:
    """The sum of the pairwise distances of normalised centres (k, d)."""
    return (2 + SLACK - 2 * centres @ centres.T).clamp(min=SLACK / 2).sqrt().triu(1).sum()
