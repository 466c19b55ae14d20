"""Vectors of many rows in their order; rows are sorted by length to avoid padding, and duplicates are encoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn

from phasefit.errors import RecipeError
from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.encoder.sharing import add_up, turn
from phasefit.models.tokens.tokens import Tokens

Progress = Callable[[int], None]

BATCH_TOKENS = 4096  # on a CPU, which gains nothing from more; bounds the memory of a batch of long texts


def encode_rows(
    encoder: Encoder,
    tokens: Tokens,
    rows: np.ndarray | None = None,
    *,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> torch.Tensor:
    """Sentence vectors (before any Normalize) of the rows, on the encoder's device, without gradient.

    A batch has at most `batch_size` rows and, on a CPU, at most `BATCH_TOKENS` tokens unless it is a single row. Within
    `shared_encoding`, the batches are divided among the processes.
    """
    if batch_size < 1:
        raise RecipeError(f"batch_size must be 1 or greater, not {batch_size}")
    rows = np.arange(len(tokens)) if rows is None else rows
    lengths = tokens.lengths[rows]
    order = np.argsort(-lengths, kind="stable")  # longest first: too little memory shows at once
    original = _originals(tokens, rows, lengths, order)
    copies_of = np.bincount(original, minlength=len(rows))  # rows with the same tokens, itself included
    device = next(encoder.parameters()).device
    rank, processes = turn(encoder)
    vectors = torch.zeros(len(rows), encoder.dimension, device=device)
    with evaluating(encoder), torch.inference_mode():
        most = (
            BATCH_TOKENS if device.type == "cpu" else batch_size * min(int(lengths.max(initial=1)), encoder.max_length)
        )
        for number, places in enumerate(_batches(order[copies_of[order] > 0], lengths, batch_size, most)):
            if number % processes == rank:
                batch = {name: value.to(device) for name, value in tokens.batch(rows[places]).items()}
                vectors[torch.from_numpy(places).to(device)] = sentence_vectors(encoder(batch)).float()
            if progress is not None:
                progress(int(copies_of[places].sum()))
        add_up(encoder, vectors)
        copies = np.flatnonzero(copies_of == 0)
        if len(copies):
            at, of = torch.from_numpy(copies).to(device), torch.from_numpy(original[copies]).to(device)
            vectors[at] = vectors[of]
    return vectors  # created outside inference mode: a plain tensor, usable in autograd


def _originals(tokens: Tokens, rows: np.ndarray, lengths: np.ndarray, order: np.ndarray) -> np.ndarray:
    """For each position the first one with the same tokens: itself, unless it is a copy. `order` is by length."""
    original = np.arange(len(rows))
    if len(rows) < 2:
        return original
    ids, begins = np.asarray(tokens.ids), tokens.starts[rows]
    seen: dict[bytes, int] = {}
    length = -1
    for place in order.tolist():
        if lengths[place] != length:  # copies have the same length: forget longer rows
            seen, length = {}, lengths[place]
        begin = begins[place]
        original[place] = seen.setdefault(ids[begin : begin + length].tobytes(), place)
    return original


def _batches(order: np.ndarray, lengths: np.ndarray, batch_size: int, most: int) -> Iterator[np.ndarray]:
    """Positions in order, longest first, as many at a time as both limits allow."""
    start = 0
    while start < len(order):
        fitting = most // max(1, int(lengths[order[start]]))
        stop = start + min(batch_size, max(1, fitting))
        yield order[start:stop]
        start = stop


class evaluating:  # noqa: N801 - used as a context manager
    """Evaluation mode for the block; afterwards each module is in its previous mode again."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._training = [part for part in module.modules() if part.training]

    def __enter__(self) -> None:
        if self._training:
            self._module.eval()

    def __exit__(self, *_: object) -> None:
        for part in self._training:
            part.training = True
