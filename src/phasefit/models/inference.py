"""Vectors of many rows: length-sorted so that little is padding, in the order asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from phasefit.models.encoder import Encoder, sentence_vectors
from phasefit.models.tokens import Tokens

Progress = Callable[[int], None]


def encode_rows(
    encoder: Encoder,
    tokens: Tokens,
    rows: np.ndarray | None = None,
    *,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> torch.Tensor:
    """Sentence vectors (before any Normalize) of the rows, on the encoder's device, without gradient."""
    rows = np.arange(len(tokens)) if rows is None else rows
    device = next(encoder.parameters()).device
    vectors = torch.empty(len(rows), encoder.dimension, device=device)
    order = np.argsort(-tokens.lengths[rows], kind="stable")  # longest first: running out of memory shows at once
    with evaluating(encoder), torch.inference_mode():
        for start in range(0, len(rows), batch_size):
            place = order[start : start + batch_size]
            batch = {name: value.to(device) for name, value in tokens.batch(rows[place]).items()}
            vectors[torch.from_numpy(place).to(device)] = sentence_vectors(encoder(batch)).float()
            if progress is not None:
                progress(len(place))
    return vectors  # made outside inference mode: a plain tensor, usable in autograd


class evaluating:  # noqa: N801 - used as a context manager
    """Evaluation mode for the block, then whatever mode each part was in."""

    def __init__(self, module: nn.Module) -> None:
        self._modes = [(part, part.training) for part in module.modules()]
        self._module = module

    def __enter__(self) -> None:
        self._module.eval()

    def __exit__(self, *_: object) -> None:
        for part, training in self._modes:
            part.training = training
