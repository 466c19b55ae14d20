"""The loss of a head as a module: label kinds create it, phases own it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.objectives.head_losses import UpperLevels

Plain = Callable[..., Tensor]  # logits, values, class weights and, if the kind `weighs_rows`, row weights -> scalar


class HeadLoss(nn.Module):
    """Logits and the `values` of labels -> scalar; `learned` transforms values into training targets."""

    weights: Tensor | None

    def __init__(
        self,
        plain: Plain,
        weights: np.ndarray | None = None,
        learned: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        super().__init__()
        self.plain, self._learned = plain, learned
        self.register_buffer("weights", None if weights is None else torch.from_numpy(weights).float(), False)

    def values(self, values: np.ndarray) -> np.ndarray:
        """The training targets of these values, e.g. scores in standard units."""
        return values if self._learned is None else self._learned(values)

    def forward(self, logits: Tensor, values: Tensor, row_weights: Tensor | None = None) -> Tensor:
        """The loss of logits against the output of `values`, as a tensor."""
        return self.plain(logits, values, self.weights, *(() if row_weights is None else (row_weights,)))


@dataclass(frozen=True)
class WithUpperLevels:
    """The loss of tree paths combined with that of their upper levels."""

    plain: Plain
    upper: UpperLevels
    share: float

    def __call__(
        self, logits: Tensor, values: Tensor, weights: Tensor | None, row_weights: Tensor | None = None
    ) -> Tensor:
        """(n, classes) logits and (n,) codes -> scalar."""
        lowest = self.plain(logits, values, weights, row_weights)
        return (1 - self.share) * lowest + self.share * self.upper(logits, values, row_weights)
