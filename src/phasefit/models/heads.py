"""Heads: what turns a sentence vector into logits."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from phasefit.models.seeded import seeded

HeadKind: TypeAlias = Literal["mlp", "linear", "cosine"]

SCALE = 5.0  # of a cosine head's logits: directions alone differ too little for a softmax to be sure of anything


class Head(nn.Module):
    """A linear layer, or two with an activation between them (the paper's MLP); dropout before each.

    A cosine head is linear in the vector's direction alone, which is all that contrast shapes.
    """

    def __init__(self, kind: HeadKind, dimension: int, classes: int, *, dropout: float = 0.1, seed: int = 0) -> None:
        super().__init__()
        self.kind: HeadKind = kind
        self.dimension = dimension
        self.classes = classes
        self.dropout = dropout
        with seeded(seed):
            hidden = [nn.Dropout(dropout), nn.Linear(dimension, dimension), nn.GELU()] if kind == "mlp" else []
            self.layers = nn.Sequential(*hidden, nn.Dropout(dropout), nn.Linear(dimension, classes))

    @property
    def output(self) -> nn.Linear:
        """The last layer, one row per class."""
        last = self.layers[-1]
        assert isinstance(last, nn.Linear)
        return last

    def forward(self, vectors: Tensor) -> Tensor:
        """(n, dimension) -> (n, classes) logits."""
        if self.kind == "cosine":
            vectors = SCALE * normalize(vectors, dim=1)
        logits: Tensor = self.layers(vectors)
        return logits

    def size(self) -> Tensor:
        """Half the sum of the last layer's squared weights, as if a cosine head's vectors had length one."""
        scale = SCALE if self.kind == "cosine" else 1.0
        return (scale * self.output.weight).square().sum() / 2

    def set_dropout(self, dropout: float) -> None:
        """Another dropout from now on."""
        self.dropout = dropout
        for layer in self.layers:
            if isinstance(layer, nn.Dropout):
                layer.p = dropout

    def grown(self, classes: int, seed: int) -> Head:
        """A head for more classes that says the same about the old ones."""
        head = Head(self.kind, self.dimension, classes, dropout=self.dropout, seed=seed)
        with torch.no_grad():
            for new, old in zip(head.parameters(), self.parameters(), strict=True):
                new[: len(old)].copy_(old)
        return head

    def config(self) -> dict[str, Any]:
        """What `Head(**config)` needs to build the same layers."""
        return {"kind": self.kind, "dimension": self.dimension, "classes": self.classes, "dropout": self.dropout}
