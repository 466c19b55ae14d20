"""Heads that are solved: the weights of a single layer that scikit-learn fits on cached vectors, instead of steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from phasefit.data.labels import LabelSpace
from phasefit.models.heads import COSINES, SCALE, Head
from phasefit.models.linear import LinearRows, fit_linear
from phasefit.models.regularisation import choose_regularisation


@dataclass(frozen=True)
class Solution:
    """The layer of a head, as arrays that can be sent to other processes."""

    weight: np.ndarray  # (classes, inputs)
    bias: np.ndarray  # (classes,)
    C: float | None = None  # None: a least-squares line, which needs no regularisation
    losses: dict[float, float] = field(default_factory=dict)  # the cross-validated loss of each C that was compared


def solve_head(
    head: Head,
    vectors: Tensor,
    space: LabelSpace,
    values: np.ndarray,
    *,
    seed: int,
    C: float | None = None,
    weights: np.ndarray | None = None,
    class_weights: np.ndarray | None = None,
    class_vectors: np.ndarray | None = None,
) -> Solution:
    """Fit the layer of a linear or cosine head on vectors; without `C`, cross-validation chooses it.

    Regularisation depends on the length of vectors, so their mean length is scaled to 1. With `class_vectors`,
    (classes, dimension) of length 1, it pulls the logits of a cosine head to `SCALE` times the cosines with them.
    """
    inputs = head.inputs(vectors.detach()).cpu().double().numpy()
    scales = _scales(head, vectors)
    prior = None if class_vectors is None else SCALE * class_vectors.T.astype(np.float64)
    rows = LinearRows(inputs / scales, space, values, weights, class_weights, prior)
    losses: dict[float, float] = {}
    if C is None:
        C, losses = choose_regularisation(rows, seed=seed)
    linear = fit_linear(rows, C=C, seed=seed)
    weight = (linear.weights / scales[:, None]).T.astype(np.float32)
    return Solution(np.ascontiguousarray(weight), linear.bias, C, losses)


def _scales(head: Head, vectors: Tensor) -> np.ndarray:
    """The scale of each input of the head; products of two vectors have the square of their scale."""
    if head.pair == "cosine":
        return np.array([COSINES])
    width = head.output.in_features
    if head.kind == "cosine":
        return np.full(width, SCALE)
    lengths = vectors.detach().cpu().double().reshape(-1, head.dimension).norm(dim=1)
    length = float(lengths.mean()) or 1.0
    scales = np.full(width, length)
    if head.pair == "uv_diff_prod":
        scales[3 * head.dimension :] = length**2
    return scales
