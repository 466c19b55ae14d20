"""Proxy-NCA objective: texts are compared with one learned vector per class, not with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, one_hot

from phasefit.objectives.contract import Learned, Objective, class_codes, full_precision, weighted_mean
from phasefit.objectives.distances import squared_distances


class Proxies(nn.Module):
    """One vector per class, drawn uniformly from the unit sphere."""

    def __init__(self, classes: int, dimension: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(normalize(torch.randn(classes, dimension), dim=1))


@dataclass(frozen=True)
class ProxyNCA(Objective):
    """Mean of `d(x, p_y) + log sum over the other classes exp(-d(x, p))` (Movshovitz-Attias et al., 2017).

    `d` is the squared distance of normalised vectors. The class's own proxy is not in the sum, as in the paper, so the
    loss may be negative.
    """

    name: ClassVar[str] = "proxy-nca"
    inputs: ClassVar[tuple[str, ...]] = ("labelled",)
    weighs_rows: ClassVar[bool] = True

    def parameters(self, classes: int, dimension: int) -> Proxies:
        """The proxies."""
        return Proxies(classes, dimension)

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Compares every text with all proxies."""
        proxies = getattr(learned.parameters, "weight", None)
        if not isinstance(proxies, Tensor):
            raise TypeError(f"objective '{self.name}' needs the proxies that its method `parameters` creates")
        codes = class_codes(self.name, targets)
        (weight,) = full_precision(proxies)
        if len(weight) < 2:
            return self._nothing("there is only one class", embeddings, weight)
        if not len(embeddings):
            return self._nothing("the batch is empty", embeddings, weight)
        distances = squared_distances(embeddings, weight)
        own = one_hot(codes, len(weight)).bool()
        each = distances[own] + (-distances).masked_fill(own, float("-inf")).logsumexp(1)
        return weighted_mean(each, learned.row_weights)
