"""Euclidean distances of normalised vectors, with finite gradients even if two vectors are equal."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """(n, d), (m, d) -> (n, m); from 0 to 4."""
    left, right = normalize(left, dim=1), normalize(right, dim=1)
    # A vector of zeros stays zero when normalised: its square is not 1.
    squares = left.square().sum(1)[:, None] + right.square().sum(1)[None, :]
    return (squares - 2 * left @ right.T).clamp(min=0)


def squared_distances_of_rows(left: Tensor, right: Tensor) -> Tensor:
    """(n, d), (n, d) -> (n,); from 0 to 4."""
    return (normalize(left, dim=1) - normalize(right, dim=1)).square().sum(1)


def safe_root(squared: Tensor) -> Tensor:
    """The square root, with a gradient of 0 instead of infinity at 0."""
    positive = squared > torch.finfo(squared.dtype).eps
    return torch.where(positive, squared.where(positive, 1.0).sqrt(), 0.0)
