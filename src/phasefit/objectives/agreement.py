"""The agreement of two targets, from 0 to 1: the one place that depends on the tensor format of label kinds.

Classes are integers of shape (n,): equal or not. Tree paths are integers of shape (n, levels): the share of leading
levels that agree, so an equal child under a different parent does not count. Several labels per text are booleans of
shape (n, classes): the Jaccard index. Uncertain classes are floats of shape (n, classes), probabilities that sum to 1:
the probability that both texts have the same class.
"""

from __future__ import annotations

import torch
from torch import Tensor


def pair_agreement(left: Tensor, right: Tensor) -> Tensor:
    """Agreement of targets that broadcast against each other, over their last dimension if they have levels."""
    if left.dtype == torch.bool:
        both = (left & right).sum(-1)
        either = (left | right).sum(-1)
        return torch.where(either > 0, both / either.clamp(min=1), torch.zeros_like(both, dtype=torch.float32))
    if left.dtype.is_floating_point:
        return (left * right).sum(-1)
    return same_so_far(left, right).float().mean(-1)


def same_so_far(left: Tensor, right: Tensor) -> Tensor:
    """For paths that broadcast against each other, (..., levels): 1 if all levels down to this one are the same."""
    return (left == right).long().cumprod(-1)


def agreement(targets: Tensor) -> Tensor:
    """The (n, n) matrix of agreements within a batch."""
    if targets.dim() == 1:
        targets = targets[:, None]
    return pair_agreement(targets[:, None], targets[None, :])
