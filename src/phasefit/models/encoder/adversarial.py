"""Virtual adversarial perturbation: the small shift of a text's input embeddings that changes its vector most.

Miyato et al. (2017) estimate it with one step of power iteration: starting from a random direction, they follow the
gradient of the distance between the vectors with and without a tiny shift. Both passes run without dropout, which would
hide the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.encoder.inference import evaluating
from phasefit.models.tokens.tokens import Features


def adversarial_output(encoder: Encoder, features: Features, *, epsilon: float, xi: float) -> Features:
    """The encoder's output with embeddings shifted adversarially, by `epsilon` times their norm for each text."""
    shift = adversarial_shift(encoder, features, epsilon=epsilon, xi=xi)
    with _embeddings(encoder, lambda embeddings: embeddings + shift.to(embeddings.dtype)):
        out: Features = encoder(features)
    return out


def adversarial_shift(encoder: Encoder, features: Features, *, epsilon: float, xi: float) -> Tensor:
    """The shift (texts, tokens, size), 0 for padding; does not change the gradients of parameters.

    The initial direction comes from torch's default generator. A text whose vector does not move keeps it.
    """
    device = features["input_ids"].device
    real = features["attention_mask"][:, :, None].float()
    captured: list[Tensor] = []

    def capture(embeddings: Tensor) -> Tensor:
        captured.append(embeddings)
        return embeddings

    with evaluating(encoder), torch.autocast(device.type, enabled=False):
        with torch.no_grad(), _embeddings(encoder, capture):
            original = sentence_vectors(encoder(features)).float()
        size = _norm(captured[0].float() * real)
        noise = torch.randn(captured[0].shape, device=device) * real
        with torch.enable_grad():
            step = (noise * (xi * size / _norm(noise))).requires_grad_()
            with _embeddings(encoder, lambda embeddings: embeddings.detach() + step.to(embeddings.dtype)):
                shifted = sentence_vectors(encoder(features)).float()
            distance = (1 - cosine_similarity(original, shifted)).sum()
            (gradient,) = torch.autograd.grad(distance, step)
    gradient = gradient * real
    # The norm of a tiny gradient can round to 0: scale it to unit size first, then to epsilon.
    gradient = gradient / gradient.abs().amax(dim=(1, 2), keepdim=True).clamp(min=1e-30)
    unmoved = _norm(gradient) < 0.5
    direction = torch.where(unmoved, noise, gradient)
    return direction * (epsilon * size / _norm(direction).clamp(min=1e-12))


def _norm(values: Tensor) -> Tensor:
    """The norm of each text, (texts, 1, 1)."""
    return values.pow(2).sum(dim=(1, 2), keepdim=True).sqrt()


@contextmanager
def _embeddings(encoder: Encoder, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Apply `change` to the output of the input embedding layer while the block runs."""

    def hook(_: object, __: object, embeddings: Any) -> Tensor:
        return change(embeddings)

    handle = encoder.transformer.get_input_embeddings().register_forward_hook(hook)
    try:
        with encoder.packing.off():
            yield
    finally:
        handle.remove()
