from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from phasefit.errors import ModelError
from phasefit.models.decoders.light import LightDecoder
from phasefit.models.decoders.tied import FAMILIES as TIED
from phasefit.models.decoders.tied import TiedDecoder
from phasefit.models.encoder.encoder import Encoder, load_encoder, sentence_vectors
from phasefit.models.tokens.tokens import Features, Tokens
from tiny import FAMILIES, make_table, type_of


@pytest.fixture
def encoder(tiny_folder: Path) -> Encoder:
    return load_encoder(str(tiny_folder)).eval()


def make(kind: str, encoder: Encoder, tokens: Tokens) -> torch.nn.Module:
    used = np.unique(tokens.ids)
    return (LightDecoder(encoder, used) if kind == "light" else TiedDecoder(encoder)).eval()


def wider(clean: Features, by: int, pad: int) -> Features:
    rows = len(clean["input_ids"])
    return {
        "input_ids": torch.cat([clean["input_ids"], torch.full((rows, by), pad)], dim=1),
        "attention_mask": torch.cat([clean["attention_mask"], torch.zeros(rows, by, dtype=torch.long)], dim=1),
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_a_new_light_decoder_has_the_loss_of_a_uniform_guess(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family))).eval()
    tokens = encoder.tokenise(make_table(60)[0])
    clean = tokens.batch(np.arange(32))
    decoder = make("light", encoder, tokens)
    loss = decoder(sentence_vectors(encoder(clean)), clean).item()
    assert loss == pytest.approx(math.log(len(np.unique(tokens.ids))), rel=0.12)


@pytest.mark.parametrize("kind", ["light", "tied"])
def test_the_gradient_reaches_the_encoder(encoder: Encoder, kind: str) -> None:
    tokens = encoder.tokenise(make_table(20)[0])
    clean = tokens.batch(np.arange(8))
    vectors = sentence_vectors(encoder(clean)).detach().requires_grad_()
    make(kind, encoder, tokens)(vectors, clean).backward()
    assert (vectors.grad.abs().sum(dim=1) > 0).all(), "every text's vector is looked at"


@pytest.mark.parametrize("kind", ["light", "tied"])
def test_padding_does_not_matter(encoder: Encoder, kind: str) -> None:
    tokens = encoder.tokenise(make_table(20)[0])
    clean = tokens.batch(np.arange(8))
    vectors = sentence_vectors(encoder(clean))
    decoder = make(kind, encoder, tokens)
    loss = decoder(vectors, clean).item()
    assert decoder(vectors, wider(clean, 5, tokens.pad)).item() == pytest.approx(loss, abs=1e-5)
    each = [
        (decoder(vectors[row : row + 1], tokens.batch(np.array([row]))).item(), tokens.lengths[row] - 1)
        for row in range(8)
    ]
    mean = sum(value * count for value, count in each) / sum(count for _, count in each)
    assert mean == pytest.approx(loss, abs=1e-5), "the mean over tokens, text by text"


@pytest.mark.parametrize("kind", ["light", "tied"])
def test_decoding_is_causal(encoder: Encoder, kind: str) -> None:
    """Changing the last token must not change the predictions of earlier ones."""
    tokens = encoder.tokenise(["the song of rain", "the song of wind"])
    clean = tokens.batch(np.arange(2))
    vectors = sentence_vectors(encoder(clean))[:1].expand(2, -1)
    decoder = make(kind, encoder, tokens)
    both = [
        decoder(vectors[row : row + 1], {name: value[row : row + 1, :4] for name, value in clean.items()}).item()
        for row in range(2)
    ]
    assert both[0] == pytest.approx(both[1], abs=1e-6)


@pytest.mark.parametrize("kind", ["light", "tied"])
def test_the_loss_depends_on_the_vector(encoder: Encoder, kind: str) -> None:
    tokens = encoder.tokenise(make_table(20)[0])
    clean = tokens.batch(np.arange(8))
    vectors = sentence_vectors(encoder(clean))
    decoder = make(kind, encoder, tokens)
    assert decoder(vectors, clean).item() != decoder(vectors * 3 + 1, clean).item()


def test_the_seed_determines_the_initial_weights_of_the_light_decoder(encoder: Encoder) -> None:
    used = np.unique(encoder.tokenise(make_table(20)[0]).ids)
    first, again, other = (LightDecoder(encoder, used, seed=seed).condition.weight for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family in TIED])
def test_the_tied_decoder_shares_the_encoders_weights(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family))).eval()
    decoder = TiedDecoder(encoder)
    theirs = {id(parameter) for parameter in encoder.parameters() if parameter.requires_grad}
    own = dict(decoder.named_parameters())
    assert theirs <= {id(parameter) for parameter in own.values()}
    fresh = [name for name, parameter in own.items() if id(parameter) not in theirs]
    words = ("cross", "head", "generator", "cls.predictions")
    assert all(any(word in name for word in words) for name in fresh), fresh
    head = decoder.decoder.get_output_embeddings().weight
    assert head is encoder.transformer.get_input_embeddings().weight, "the language-model head is tied as well"
    tokens = encoder.tokenise(make_table(20)[0])
    clean = tokens.batch(np.arange(8))
    decoder(sentence_vectors(encoder(clean)), clean).backward()
    silent = [name for name, p in encoder.named_parameters() if p.requires_grad and p.grad is None]
    assert not [name for name in silent if "token_type" not in name]


def test_tying_does_not_change_the_encoder(encoder: Encoder) -> None:
    clean = encoder.tokenise(make_table(20)[0]).batch(np.arange(8))
    before = sentence_vectors(encoder(clean))
    TiedDecoder(encoder)
    assert torch.equal(before, sentence_vectors(encoder(clean)))
    assert not encoder.transformer.config.is_decoder if hasattr(encoder.transformer.config, "is_decoder") else True


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in TIED])
def test_unsupported_families_are_rejected(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family)))
    with pytest.raises(ModelError, match=f", not {type_of(family)}; use decoder = 'light'"):
        TiedDecoder(encoder)
