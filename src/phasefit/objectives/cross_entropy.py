"""Cross-entropy of a classifier's logits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


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
