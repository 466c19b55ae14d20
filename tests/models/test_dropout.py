"""DropHead and other dropout rates, for every family, without side effects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest
import torch

from phasefit.errors import ModelError
from phasefit.models.encoder.dropout import (
    attention_projections,
    dropout_rate,
    dropout_rates,
    dropped_heads,
    kept_heads,
)
from phasefit.models.encoder.encoder import Encoder, load_encoder, sentence_vectors
from phasefit.models.seeded import seeded
from phasefit.models.tokens.tokens import Features
from tiny import FAMILIES, HEADS, HIDDEN, LAYERS, make_table

every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def encoder(tiny_encoder, family: str) -> Iterator[Encoder]:
    """Without dropout, so that dropped heads are the only noise."""
    encoder = load_encoder(str(tiny_encoder(family))).train()
    with dropout_rate(encoder, 0.0):
        yield encoder


def batch(encoder: Encoder, rows: int = 40) -> Features:
    return encoder.tokenise(make_table(rows)[0]).batch(np.arange(rows))


def read_by(encoder: Encoder, rate: float, seed: int = 0) -> list[torch.Tensor]:
    """The input of each output projection, (texts, tokens, heads, size), layer by layer."""
    seen: list[torch.Tensor] = []
    with ExitStack() as stack, torch.no_grad(), seeded(seed):
        stack.enter_context(dropped_heads(encoder, rate))
        stack.enter_context(encoder.packing.off())  # one text in each row, without dropped heads too
        for projection in attention_projections(encoder):
            handle = projection.register_forward_pre_hook(lambda _, given: seen.append(given[0].clone()))
            stack.callback(handle.remove)
        encoder(batch(encoder))
    return [part.unflatten(-1, (HEADS, HIDDEN // HEADS)) for part in seen]


@every_family
def test_whole_heads_are_dropped_but_never_all(encoder: Encoder, family: str) -> None:
    clean, dropped = read_by(encoder, 0.0), read_by(encoder, 0.5)
    assert len(clean) == len(dropped) == LAYERS
    kept = (dropped[0] != 0).any(dim=(1, 3))  # (texts, heads)
    assert kept.any(1).all()
    assert 0 < (~kept).sum() < kept.numel()
    scale = HEADS / kept.sum(1)
    expected = clean[0] * (kept * scale[:, None])[:, None, :, None]
    assert torch.allclose(dropped[0], expected, atol=1e-6), "a head is whole or gone, the rest is scaled"
    assert not torch.equal(kept, (dropped[1] != 0).any(dim=(1, 3))), "each layer draws for itself"


@every_family
def test_heads_are_dropped_only_in_training_and_hooks_are_removed(encoder: Encoder, family: str) -> None:
    features = batch(encoder, 8)
    plain = sentence_vectors(encoder(features))
    with dropped_heads(encoder, 0.5):
        assert not torch.equal(sentence_vectors(encoder(features)), plain)
        encoder.eval()
        assert torch.allclose(sentence_vectors(encoder(features)), plain, atol=1e-6)  # unpacked: other rounding
    encoder.train()
    assert torch.equal(sentence_vectors(encoder(features)), plain)
    with pytest.raises(RuntimeError), dropped_heads(encoder, 0.5):
        raise RuntimeError
    assert torch.equal(sentence_vectors(encoder(features)), plain)
    assert not any(part._forward_pre_hooks for part in attention_projections(encoder))


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.9])
@pytest.mark.parametrize("heads", [1, 2, 12])
def test_the_expectation_is_preserved(rate: float, heads: int) -> None:
    with seeded(0):
        weight = kept_heads(20_000, heads, rate, torch.device("cpu"))
    assert torch.allclose(weight.mean(0), torch.ones(heads), atol=0.1)
    assert torch.allclose(weight.sum(1), torch.full((20_000,), float(heads)))
    silent = (weight == 0).float().mean().item()
    # Of a head: the rate, less the cases in which all would have gone and one of them stays.
    assert silent == pytest.approx(rate - rate**heads / heads, abs=0.01)


@pytest.mark.parametrize("family", ["bert"])
def test_an_unknown_family_is_rejected(encoder: Encoder, family: str) -> None:
    encoder.transformer.config.model_type = "mamba"
    with pytest.raises(ModelError, match="is of type 'mamba'"), dropped_heads(encoder, 0.2):
        pass
    with dropped_heads(encoder, 0.0):  # a rate of 0 needs no projections
        pass


@every_family
def test_dropout_rate_is_restored_after_the_block(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family))).train()
    features = batch(encoder, 8)
    assert set(dropout_rates(encoder)) == {0.1}
    assert len(dropout_rates(encoder)) > LAYERS
    with dropout_rate(encoder, 0.0):
        assert set(dropout_rates(encoder)) == {0.0}
        assert torch.equal(sentence_vectors(encoder(features)), sentence_vectors(encoder(features)))
    assert set(dropout_rates(encoder)) == {0.1}
    with dropout_rate(encoder, None):
        assert set(dropout_rates(encoder)) == {0.1}
    with pytest.raises(RuntimeError), dropout_rate(encoder, 0.4):
        raise RuntimeError
    assert set(dropout_rates(encoder)) == {0.1}
