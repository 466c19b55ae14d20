"""A variational bottleneck between the sentence vector and the decoder, which can generate new texts.

The sentence vector becomes the centre of a normal distribution, and the decoder reconstructs the text from a sample.
So it learns to decode every vector of the neighbourhood, not only the vectors of actual texts.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from phasefit.models.decoders.light import LightDecoder
from phasefit.models.tokens.tokens import Features

SMALL = -4.0  # the initial log-variance: a standard deviation of about 1/7


def kl_divergence(mu: Tensor, logvar: Tensor, weights: Tensor | None = None) -> Tensor:
    """KL of N(mu, exp(logvar)) from N(0, 1): the mean over rows of -1/2 sum(1 + logvar - mu^2 - exp(logvar))."""
    rows = (1 + logvar - mu.square() - logvar.exp()).sum(dim=1)
    return -0.5 * (rows if weights is None else rows * weights.to(rows.dtype)).mean()


class Generator(nn.Module):
    """Mean and variance from a sentence vector, and the decoder that turns a sample into a text."""

    def __init__(self, decoder: LightDecoder, width: int) -> None:
        super().__init__()
        self.decoder = decoder
        self.mu = nn.Linear(width, width)
        self.logvar = nn.Linear(width, width)
        with torch.no_grad():  # initially the mean is the vector itself
            self.mu.weight.copy_(torch.eye(width))
            self.mu.bias.zero_()
            self.logvar.weight.zero_()
            self.logvar.bias.fill_(SMALL)

    def forward(self, vectors: Tensor, clean: Features, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Vectors (n, d) and clean texts -> token cross-entropy and KL; in evaluation the sample is the mean."""
        mu, logvar = self.mu(vectors), self.logvar(vectors)
        sample = _sample(mu, logvar) if self.training else mu
        return self.decoder(sample, clean, weights), kl_divergence(mu.float(), logvar.float(), weights)

    def draw(self, vectors: Tensor) -> Tensor:
        """A random point near each vector (n, d), which the decoder can turn into a text."""
        return _sample(self.mu(vectors), self.logvar(vectors))


def _sample(mu: Tensor, logvar: Tensor) -> Tensor:
    return mu + torch.randn_like(mu) * (0.5 * logvar).exp()
