"""Packed rows give the same results as padded ones, for every supported family, in training and evaluation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.models.encoder.dropout import dropped_heads
from phasefit.models.encoder.encoder import Encoder, load_encoder, sentence_vectors
from phasefit.models.encoder.packing import FAMILIES as PACKED
from phasefit.models.encoder.packing import pack
from tiny import FAMILIES, type_of

Make = Callable[..., Path]
LONG = "what is the weather in paris tomorrow and the day after " * 3
TEXTS = ["book a table", "play", LONG, "a", "rain " * 7, "b c"]


def seen_shapes(encoder: Encoder) -> list[tuple[int, ...]]:
    """Records the shapes of the inputs of the Transformer."""
    shapes: list[tuple[int, ...]] = []

    def hook(_: object, given: tuple[torch.Tensor, ...]) -> None:
        shapes.append(tuple(given[0].shape))

    encoder.transformer.get_input_embeddings().register_forward_pre_hook(hook)
    return shapes


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_and_gradients_equal_those_of_padded_rows(tiny_encoder: Make, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family, dropout=0.0))).train()
    batch = encoder.tokenise(TEXTS * 4).batch(np.arange(len(TEXTS) * 4))
    shapes = seen_shapes(encoder)
    outputs = []
    for off in (False, True):
        encoder.zero_grad()
        if off:
            with encoder.packing.off():
                output = encoder(batch)
        else:
            output = encoder(batch)
        sentence_vectors(output).pow(2).sum().backward()
        real = batch["attention_mask"].bool()
        gradients = [p.grad for p in encoder.parameters() if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        outputs.append((sentence_vectors(output), output["token_embeddings"][real], flat))
    for packed, padded in zip(*outputs, strict=True):
        torch.testing.assert_close(packed, padded, rtol=1e-4, atol=1e-5)
    assert (shapes[0] != shapes[1]) == (type_of(family) in PACKED)
    if type_of(family) in PACKED:
        assert np.prod(shapes[0]) < 0.6 * np.prod(shapes[1])


def test_texts_of_equal_length_are_not_packed(tiny_encoder: Make) -> None:
    encoder = load_encoder(str(tiny_encoder()))
    shapes = seen_shapes(encoder)
    encoder(encoder.tokenise(["play a song"] * 5).batch(np.arange(5)))
    assert shapes[0][0] == 5


def test_heads_are_dropped_text_by_text(tiny_encoder: Make) -> None:
    encoder = load_encoder(str(tiny_encoder())).train()
    shapes = seen_shapes(encoder)
    with dropped_heads(encoder, 0.5):
        encoder(encoder.tokenise(TEXTS).batch(np.arange(len(TEXTS))))
    assert shapes[0][0] == len(TEXTS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(40, 80))
def test_no_two_texts_overlap(lengths: list[int], width: int) -> None:
    row, offset, count = pack(np.array(lengths), width)
    cells = np.zeros((count, width), dtype=int)
    for which, length in enumerate(lengths):
        assert offset[which] + length <= width
        cells[row[which], offset[which] : offset[which] + length] += 1
    assert cells.max() == 1
    assert cells.any(axis=1).all()
    assert count <= max(2 * sum(lengths) / width + 1, 1)  # best fit leaves no two rows half empty
