"""The cross-entropy of the tokens that a decoder reconstructs."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cross_entropy


def token_loss(logits: Tensor, targets: Tensor, real: Tensor, weights: Tensor | None = None) -> Tensor:
    """The mean over real tokens; logits (tokens, vocabulary), targets and mask (n, length), weights of texts (n,)."""
    if weights is None:
        return cross_entropy(logits, targets[real])
    each = cross_entropy(logits, targets[real], reduction="none")
    return (each * weights[:, None].expand(real.shape)[real].to(each.dtype)).mean()
