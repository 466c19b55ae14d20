"""The losses of heads, one for each label kind: single classes, several labels, scores, tree paths."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from phasefit.objectives.contract import weighted_mean


@dataclass(frozen=True)
class CrossEntropy:
    """Softmax cross-entropy; `class_weights` give mistakes on rare classes more weight.

    With `focal` each text is weighted by (1 - p)^focal, p being the probability of its true class (Lin et al., 2017):
    texts that are already learned hardly count, which leaves more weight to rare classes. Two classes have two logits:
    their softmax is the sigmoid of the difference. Not an `Objective`: it uses logits, not embeddings, and always
    belongs to a head.
    """

    label_smoothing: float = 0.0
    focal: float = 0.0

    def __call__(
        self,
        logits: Tensor,
        codes: Tensor,
        class_weights: Tensor | None = None,
        row_weights: Tensor | None = None,
    ) -> Tensor:
        """(n, classes) logits and (n,) codes -> scalar."""
        if not self.focal and row_weights is None:
            return cross_entropy(logits, codes, weight=class_weights, label_smoothing=self.label_smoothing)
        each = cross_entropy(
            logits, codes, weight=class_weights, label_smoothing=self.label_smoothing, reduction="none"
        )
        if self.focal:
            missed = 1 - logits.softmax(dim=1).gather(1, codes[:, None])[:, 0]
            each = missed.clamp(min=torch.finfo(missed.dtype).eps) ** self.focal * each
        if row_weights is not None:
            each = each * row_weights.to(each.dtype)
        rows = len(codes) if class_weights is None else class_weights[codes].sum()
        return each.sum() / rows


@dataclass(frozen=True)
class BinaryCrossEntropy:
    """Binary cross-entropy of each label, averaged over texts and labels.

    `weights` give the texts that have a label more weight; `focal` gives labels that are predicted well less weight.
    """

    label_smoothing: float = 0.0
    focal: float = 0.0

    def __call__(
        self, logits: Tensor, values: Tensor, weights: Tensor | None = None, row_weights: Tensor | None = None
    ) -> Tensor:
        """(n, labels) logits and true labels -> scalar."""
        truth = values.to(logits.dtype)
        smooth = truth * (1 - self.label_smoothing) + self.label_smoothing / 2
        each = binary_cross_entropy_with_logits(logits, smooth, pos_weight=weights, reduction="none")
        if self.focal:
            missed = (truth - logits.sigmoid()).abs().clamp(min=torch.finfo(logits.dtype).eps)
            each = missed**self.focal * each
        return weighted_mean(each, None if row_weights is None else row_weights[:, None])


@dataclass(frozen=True)
class SquaredError:
    """The mean squared error of one score per row."""

    def __call__(
        self, logits: Tensor, values: Tensor, weights: Tensor | None = None, row_weights: Tensor | None = None
    ) -> Tensor:
        """(n, 1) and (n,) -> scalar."""
        truth = values.to(logits.dtype)
        if row_weights is None:
            return mse_loss(logits[:, 0], truth)
        return weighted_mean(mse_loss(logits[:, 0], truth, reduction="none"), row_weights)


@dataclass(frozen=True)
class UpperLevels:
    """Cross-entropy of the upper levels of a tree; the probability of a node is the sum over the paths below it.

    `nodes` (classes, levels) holds the node number of each class on each level except the last.
    """

    nodes: Tensor

    def __call__(self, logits: Tensor, codes: Tensor, row_weights: Tensor | None = None) -> Tensor:
        """(n, classes) logits and (n,) codes -> scalar, the mean over levels."""
        probabilities = logits.softmax(dim=1)
        losses = []
        for level in self.nodes.to(logits.device).T:
            sums = probabilities.new_zeros(len(logits), int(level.max()) + 1).index_add(1, level, probabilities)
            true = sums.gather(1, level[codes][:, None])[:, 0]
            losses.append(weighted_mean(-true.clamp(min=torch.finfo(true.dtype).tiny).log(), row_weights))
        return torch.stack(losses).mean()
