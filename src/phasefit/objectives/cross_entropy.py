"""Cross-entropy of a classifier's logits."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class CrossEntropy:
    """Softmax cross-entropy; `class_weights` count the mistakes on rare classes for more.

    Two classes are two logits: their softmax is the sigmoid of the difference. Not an `Objective`: it sees logits, not
    embeddings, and always belongs to a head.
    """

    label_smoothing: float = 0.0

    def __call__(self, logits: Tensor, codes: Tensor, class_weights: Tensor | None = None) -> Tensor:
        """(n, classes) logits and (n,) codes -> scalar."""
        return cross_entropy(logits, codes, weight=class_weights, label_smoothing=self.label_smoothing)
