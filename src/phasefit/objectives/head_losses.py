"""What a head is trained by, for each kind of labels: one class, several at once, scores, paths."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss


@dataclass(frozen=True)
class CrossEntropy:
    """Softmax cross-entropy; `class_weights` count the mistakes on rare classes for more.

    With `focal` each text counts by (1 - p)^focal, p being what its own class gets (Lin et al., 2017): what is learned
    already hardly counts, which leaves more to rare classes. Two classes are two logits: their softmax is the sigmoid
    of the difference. Not an `Objective`: it sees logits, not embeddings, and always belongs to a head.
    """

    label_smoothing: float = 0.0
    focal: float = 0.0

    def __call__(self, logits: Tensor, codes: Tensor, class_weights: Tensor | None = None) -> Tensor:
        """(n, classes) logits and (n,) codes -> scalar."""
        if not self.focal:
            return cross_entropy(logits, codes, weight=class_weights, label_smoothing=self.label_smoothing)
        each = cross_entropy(
            logits, codes, weight=class_weights, label_smoothing=self.label_smoothing, reduction="none"
        )
        missed = 1 - logits.softmax(dim=1).gather(1, codes[:, None])[:, 0]
        rows = len(codes) if class_weights is None else class_weights[codes].sum()
        return (missed.clamp(min=torch.finfo(missed.dtype).eps) ** self.focal * each).sum() / rows


@dataclass(frozen=True)
class BinaryCrossEntropy:
    """Every label is a question of its own: the mean over texts and labels of its sigmoid's cross-entropy.

    `weights` count the texts that have a label for more; `focal` counts questions that are answered well for less.
    """

    label_smoothing: float = 0.0
    focal: float = 0.0

    def __call__(self, logits: Tensor, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """(n, labels) logits and which labels hold -> scalar."""
        truth = values.to(logits.dtype)
        smooth = truth * (1 - self.label_smoothing) + self.label_smoothing / 2
        each = binary_cross_entropy_with_logits(logits, smooth, pos_weight=weights, reduction="none")
        if self.focal:
            missed = (truth - logits.sigmoid()).abs().clamp(min=torch.finfo(logits.dtype).eps)
            each = missed**self.focal * each
        return each.mean()


@dataclass(frozen=True)
class SquaredError:
    """The mean squared error of one score per row."""

    def __call__(self, logits: Tensor, values: Tensor, weights: Tensor | None = None) -> Tensor:
        """(n, 1) and (n,) -> scalar."""
        return mse_loss(logits[:, 0], values.to(logits.dtype))


@dataclass(frozen=True)
class UpperLevels:
    """Cross-entropy of the upper levels of a tree, whose probabilities are the sums of those of the paths below.

    `nodes` (classes, levels) numbers the node of each class on each level but the last.
    """

    nodes: Tensor

    def __call__(self, logits: Tensor, codes: Tensor) -> Tensor:
        """(n, classes) logits and (n,) codes -> scalar, the mean over levels."""
        likely = logits.softmax(dim=1)
        losses = []
        for level in self.nodes.to(logits.device).T:
            sums = likely.new_zeros(len(likely), int(level.max()) + 1).index_add(1, level, likely)
            right = sums.gather(1, level[codes][:, None])[:, 0]
            losses.append(-right.clamp(min=torch.finfo(right.dtype).tiny).log().mean())
        return torch.stack(losses).mean()
