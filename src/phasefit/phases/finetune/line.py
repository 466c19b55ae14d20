"""The line from the cosine of a pair to its score, fitted by least squares.

Gradient descent would need hundreds of steps for these two numbers: the scores of a short run would all lie near the
mean, and the sign of the slope would depend on the first batches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from phasefit.kinds import kind_of
from phasefit.kinds.losses import HeadLoss
from phasefit.models.heads import Head
from phasefit.models.solved_head import Solution
from phasefit.phases.contract import PhaseData
from phasefit.seeds import generator

MOST_ROWS = 1000  # enough for two numbers
SAME = 1e-3  # cosines, multiplied as the head does, that differ by less are all the same


def has_line(head: Head, data: PhaseData) -> bool:
    """Whether the head maps the cosine of a pair to a score."""
    return head.pair == "cosine" and head.classes == 1 and not kind_of(data.space).has_classes


def fitted_line(
    head: Head, loss: HeadLoss, data: PhaseData, encode: Callable[[np.ndarray], Tensor], seed: int
) -> Solution:
    """The least-squares line of the training rows, or of a sample of them; `encode` returns the vectors of rows."""
    rows = data.train
    if len(rows) > MOST_ROWS:
        rows = np.sort(generator(seed, "line").choice(rows, MOST_ROWS, replace=False))
    inputs = head.cosines(encode(rows).detach())[:, 0].cpu().double().numpy()
    targets = np.asarray(loss.values(data.values[rows]), dtype=np.float64)
    weights = np.ones(len(rows)) if data.weights is None else data.weights[rows].astype(np.float64)
    if not weights.any():  # all in the sample have weight 0
        weights = np.ones(len(rows))
    middle, mean = np.average(inputs, weights=weights), np.average(targets, weights=weights)
    centred, slope = inputs - middle, 0.0
    if centred.std() > SAME and (spread := float((weights * centred**2).sum())) > 0:
        slope = float((weights * centred * (targets - mean)).sum() / spread)
    intercept = float(mean - slope * middle)
    return Solution(np.array([[slope]], dtype=np.float32), np.array([intercept], dtype=np.float32))
