"""Heads: layers that turn the vector of a text, or the two vectors of a pair, into logits or a score."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from phasefit.files.checked import Count, Document, checked
from phasefit.models.seeded import seeded

HeadKind: TypeAlias = Literal["mlp", "linear", "cosine", "paper"]
PairKind: TypeAlias = Literal["uv", "uv_diff_prod", "cosine", "together"]
"""How a head reads the two texts of a pair. Encoded separately: both vectors (`uv`), also with their difference and
product (`uv_diff_prod`), or only their cosine (`cosine`). Or encoded `together` in both orders, each with its own
layers."""

SCALE = 5.0  # of a cosine head's logits: directions alone differ too little for a confident softmax
COSINES = 20.0  # of a pair's cosine: so that the slope has an effect within an epoch at usual learning rates
PAPER_WIDTH = 100  # of the hidden layer in the released program of the three-phase paper
WIDTHS = {"uv": 2, "uv_diff_prod": 4, "together": 1}  # concatenated vectors in the input of the layers


class HeadConfig(Document):
    """The configuration of a head in a manifest."""

    kind: HeadKind
    dimension: Count
    classes: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]
    pair: PairKind | None = None


class Head(nn.Module):
    """A linear layer, or two with an activation between them (an MLP); dropout before each.

    `paper` is what the released program of the three-phase paper trains: two layers with only dropout between them.
    A cosine head is linear in the direction of the vector, which is all that contrastive training shapes. The two
    vectors of a pair are in one row, (n, 2 * dimension).
    """

    def __init__(
        self,
        kind: HeadKind,
        dimension: int,
        classes: int,
        *,
        dropout: float = 0.1,
        seed: int = 0,
        pair: PairKind | None = None,
    ) -> None:
        super().__init__()
        self.kind: HeadKind = kind
        self.dimension = dimension
        self.classes = classes
        self.dropout = dropout
        self.pair: PairKind | None = pair
        with seeded(seed):
            self.layers = self._stack()
            if pair == "together":  # layers for each order, then a combination of both (CS224N's third experiment)
                self.second = self._stack()
                self.combine = nn.Linear(2, 1, bias=False)
                nn.init.constant_(self.combine.weight, 0.5)

    def _stack(self) -> nn.Sequential:
        if self.pair == "cosine":  # one number needs no hidden layer and no random initialisation
            linear = nn.Linear(1, self.classes)
            nn.init.zeros_(linear.weight)
            nn.init.zeros_(linear.bias)
            return nn.Sequential(linear)
        size = self.dimension * WIDTHS.get(self.pair or "", 1)
        if self.kind == "paper":
            last = nn.Linear(PAPER_WIDTH, self.classes)
            return nn.Sequential(nn.Linear(size, PAPER_WIDTH), nn.Dropout(self.dropout), last)
        hidden = [nn.Dropout(self.dropout), nn.Linear(size, self.dimension), nn.GELU()] if self.kind == "mlp" else []
        width = self.dimension if hidden else size
        return nn.Sequential(*hidden, nn.Dropout(self.dropout), nn.Linear(width, self.classes))

    @property
    def output(self) -> nn.Linear:
        """The last layer, one row per class."""
        last = self.layers[-1]
        assert isinstance(last, nn.Linear)
        return last

    def forward(self, vectors: Tensor) -> Tensor:
        """(n, dimension), or twice that for pairs -> (n, classes) logits."""
        if self.pair == "together":
            left, right = vectors[:, : self.dimension], vectors[:, self.dimension :]
            both = [self.layers(self._scaled(left)), self.second(self._scaled(right))]
            combined: Tensor = self.combine(torch.stack(both, dim=-1))
            return combined[..., 0]
        logits: Tensor = self.layers(self.inputs(vectors))
        return logits

    def inputs(self, vectors: Tensor) -> Tensor:
        """The input of the layers; `pair = "together"` has two such inputs, one for each order, and no single one."""
        if self.pair is None:
            return self._scaled(vectors)
        if self.pair == "cosine":
            return self.cosines(vectors)
        left, right = vectors[:, : self.dimension], vectors[:, self.dimension :]
        joined = [left, right] + ([(left - right).abs(), left * right] if self.pair == "uv_diff_prod" else [])
        return self._scaled(torch.cat(joined, dim=1))

    def cosines(self, vectors: Tensor) -> Tensor:
        """The input of the layers of `pair = "cosine"`: (n, 2 * dimension) -> (n, 1)."""
        left, right = vectors[:, : self.dimension], vectors[:, self.dimension :]
        return COSINES * cosine_similarity(left, right, dim=1)[:, None]

    def set_output(self, weight: np.ndarray, bias: np.ndarray) -> None:
        """Set the last layer: (classes, inputs) and (classes,)."""
        with torch.no_grad():
            self.output.weight.copy_(torch.from_numpy(weight))
            self.output.bias.copy_(torch.from_numpy(bias))

    def _scaled(self, vectors: Tensor) -> Tensor:
        return SCALE * normalize(vectors, dim=1) if self.kind == "cosine" else vectors

    def size(self) -> Tensor:
        """Half the sum of the squared weights of the last layer; for a cosine head, as applied to unit vectors."""
        scale = SCALE if self.kind == "cosine" else 1.0
        return (scale * self.output.weight).square().sum() / 2

    def start_at(self, shares: Tensor) -> None:
        """Start from the frequency of each label, (classes,), instead of a probability of 0.5.

        The steps that only lower the probability of rare labels teach the encoder nothing (Lin et al., 2017).
        """
        odds = torch.logit(shares.clamp(1e-3, 1 - 1e-3))
        stacks = [self.layers, self.second] if self.pair == "together" else [self.layers]
        with torch.no_grad():
            for stack in stacks:
                last = stack[-1]
                assert isinstance(last, nn.Linear)
                last.bias.copy_(odds.to(last.bias))

    def set_dropout(self, dropout: float) -> None:
        """Change the dropout rate."""
        self.dropout = dropout
        for layer in self.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = dropout

    def grown(self, classes: int, seed: int) -> Head:
        """A head for more classes with the same outputs for the old ones."""
        head = Head(self.kind, self.dimension, classes, dropout=self.dropout, seed=seed, pair=self.pair)
        with torch.no_grad():
            for new, old in zip(head.parameters(), self.parameters(), strict=True):
                new[: len(old)].copy_(old)
        return head

    @classmethod
    def from_config(cls, config: Any, dimension: int, classes: int) -> Head:
        """A head that `config` describes; ValueError if it does not fit the encoder and the labels."""
        saved: HeadConfig = checked(HeadConfig, config)
        if (saved.dimension, saved.classes) != (dimension, classes):
            sizes = f"{saved.dimension} inputs and {saved.classes} outputs instead of {dimension} and {classes}"
            raise ValueError(f"a head with {sizes}: the encoder or the labels do not match it")
        return cls(saved.kind, dimension, classes, dropout=saved.dropout, pair=saved.pair)

    def config(self) -> dict[str, Any]:
        """The arguments of `Head(**config)` that build the same layers."""
        config = {"kind": self.kind, "dimension": self.dimension, "classes": self.classes, "dropout": self.dropout}
        return config if self.pair is None else config | {"pair": self.pair}
