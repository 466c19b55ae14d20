"""The loss of a head, by the kind of the labels that it learns."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.labels import LabelSpace, ScoreLabels
from phasefit.objectives.cross_entropy import CrossEntropy
from phasefit.objectives.head_losses import BinaryCrossEntropy, SquaredError, UpperLevels
from phasefit.phases.finetune.options import HeadSettings

MOST_WEIGHT = 100.0  # of the texts that have a rare label: one text must not drown all others


class HeadLoss(nn.Module):
    """Logits and the `values` of labels -> scalar: cross-entropy, one sigmoid per label, or squared error."""

    weights: Tensor | None

    def __init__(self, where: str, space: LabelSpace, train: np.ndarray, options: HeadSettings) -> None:
        """`train` are the values of the training rows."""
        super().__init__()
        self.space = space
        options.check_kind(where, space.kind)
        self._upper: UpperLevels | None = None
        self._share = options.upper_levels
        if space.kind == "score":
            self._plain: CrossEntropy | BinaryCrossEntropy | SquaredError = SquaredError()
        elif space.kind == "multi":
            self._plain = BinaryCrossEntropy(options.label_smoothing, options.focal)
        else:
            self._plain = CrossEntropy(options.label_smoothing, options.focal)
        if space.kind == "tree" and options.upper_levels and space.depth > 1:
            self._upper = UpperLevels(torch.from_numpy(_nodes(space.targets(np.arange(len(space))))))
        weights = _weights(space, train) if options.class_weights == "balanced" else None
        self.register_buffer("weights", weights, persistent=False)

    def values(self, values: np.ndarray) -> np.ndarray:
        """The values as they are learned: scores in standard units."""
        if isinstance(self.space, ScoreLabels):
            return self.space.standard(values).astype(np.float32)
        return values

    def forward(self, logits: Tensor, values: Tensor) -> Tensor:
        """What `values` gave, as a tensor."""
        plain = self._plain(logits, values, self.weights)
        if self._upper is None:
            return plain
        return (1 - self._share) * plain + self._share * self._upper(logits, values)


def _weights(space: LabelSpace, train: np.ndarray) -> Tensor:
    """Inverse class sizes, scaled so that the mean over rows is 1; of several labels, rows without over with."""
    if space.kind == "multi":
        having = train.sum(axis=0).clip(1)
        return torch.from_numpy(((len(train) - having) / having).clip(1, MOST_WEIGHT)).float()
    counts = np.bincount(train, minlength=len(space)).clip(1)
    return torch.from_numpy(len(train) / (len(space) * counts)).float()


def _nodes(levels: np.ndarray) -> np.ndarray:
    """(classes, depth) names on each level -> (classes, depth - 1) nodes: paths down to each level but the last."""
    upper = [np.unique(levels[:, : depth + 1], axis=0, return_inverse=True)[1] for depth in range(levels.shape[1] - 1)]
    return np.stack([nodes.reshape(-1) for nodes in upper], axis=1)
