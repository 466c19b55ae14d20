"""Virtual adversarial perturbation: the small shift of a text's input embeddings that turns its vector most.

Miyato et al. (2017) look for it with one step of power iteration: from a random direction, the gradient of the distance
between the vectors with and without a tiny shift. Both passes run without dropout, which would drown the difference.
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
    """The encoder's output at its worst: embeddings shifted by `epsilon` times their norm, text by text."""
    shift = adversarial_shift(encoder, features, epsilon=epsilon, xi=xi)
    with _embeddings(encoder, lambda embeddings: embeddings + shift.to(embeddings.dtype)):
        out: Features = encoder(features)
    return out


def adversarial_shift(encoder: Encoder, features: Features, *, epsilon: float, xi: float) -> Tensor:
    """The shift (texts, tokens, size), nothing where there is padding; leaves every parameter's gradient alone.

    The first direction comes from torch's default generator. A text whose vector does not move keeps that direction.
    """
    device = features["input_ids"].device
    real = features["attention_mask"][:, :, None].float()
    seen: list[Tensor] = []

    def noted(embeddings: Tensor) -> Tensor:
        seen.append(embeddings)
        return embeddings

    with evaluating(encoder), torch.autocast(device.type, enabled=False):
        with torch.no_grad(), _embeddings(encoder, noted):
            still = sentence_vectors(encoder(features)).float()
        size = _norm(seen[0].float() * real)
        begun = torch.randn(seen[0].shape, device=device) * real
        with torch.enable_grad():
            step = (begun * (xi * size / _norm(begun))).requires_grad_()
            with _embeddings(encoder, lambda embeddings: embeddings.detach() + step.to(embeddings.dtype)):
                moved = sentence_vectors(encoder(features)).float()
            distance = (1 - cosine_similarity(still, moved)).sum()
            (gradient,) = torch.autograd.grad(distance, step)
    gradient = gradient * real
    # A vector's norm can be lost to rounding where the gradient is tiny: make it unit size first, then of size epsilon.
    gradient = gradient / gradient.abs().amax(dim=(1, 2), keepdim=True).clamp(min=1e-30)
    stuck = _norm(gradient) < 0.5
    direction = torch.where(stuck, begun, gradient)
    return direction * (epsilon * size / _norm(direction).clamp(min=1e-12))


def _norm(values: Tensor) -> Tensor:
    """Of each text, (texts, 1, 1)."""
    return values.pow(2).sum(dim=(1, 2), keepdim=True).sqrt()


@contextmanager
def _embeddings(encoder: Encoder, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """While the block runs, what the input embedding layer gives goes through `change`."""

    def hook(_: object, __: object, embeddings: Any) -> Tensor:
        return change(embeddings)

    handle = encoder.transformer.get_input_embeddings().register_forward_hook(hook)
    try:
        with encoder.packing.off():
            yield
    finally:
        handle.remove()
