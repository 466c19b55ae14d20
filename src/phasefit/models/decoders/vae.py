"""A variational bottleneck between the sentence vector and the decoder, and new texts out of it.

The encoder gives no longer one vector but a normal distribution around it; the decoder rebuilds the text from a draw,
so that it learns to make a text of every vector of the neighbourhood, and not only of those that texts have.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from phasefit.models.decoders.light import LightDecoder
from phasefit.models.tokens.tokens import Features

SMALL = -4.0  # the logarithm of the variance that training starts from: a seventh of a unit around the vector


def kl_divergence(mu: Tensor, logvar: Tensor) -> Tensor:
    """Of N(mu, exp(logvar)) from N(0, 1): -1/2 sum(1 + logvar - mu^2 - exp(logvar)) per row (n, d), its mean."""
    return -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(dim=1).mean()


class Generator(nn.Module):
    """Mean and variance from a sentence vector, and the decoder that makes a text of a draw."""

    def __init__(self, decoder: LightDecoder, width: int) -> None:
        super().__init__()
        self.decoder = decoder
        self.mu = nn.Linear(width, width)
        self.logvar = nn.Linear(width, width)
        with torch.no_grad():  # at the start the mean is the vector itself
            self.mu.weight.copy_(torch.eye(width))
            self.mu.bias.zero_()
            self.logvar.weight.zero_()
            self.logvar.bias.fill_(SMALL)

    def forward(self, vectors: Tensor, clean: Features) -> tuple[Tensor, Tensor]:
        """Vectors (n, d) and clean texts -> token cross-entropy and KL; in evaluation the draw is the mean."""
        mu, logvar = self.mu(vectors), self.logvar(vectors)
        drawn = _drawn(mu, logvar) if self.training else mu
        return self.decoder(drawn, clean), kl_divergence(mu.float(), logvar.float())

    def draw(self, vectors: Tensor) -> Tensor:
        """A point near each vector (n, d), which the decoder can make a text of."""
        return _drawn(self.mu(vectors), self.logvar(vectors))


def _drawn(mu: Tensor, logvar: Tensor) -> Tensor:
    return mu + torch.randn_like(mu) * (0.5 * logvar).exp()
