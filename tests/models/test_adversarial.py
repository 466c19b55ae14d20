"""The shift of the input embeddings that changes a vector most."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from phasefit.models.encoder.adversarial import adversarial_output, adversarial_shift
from phasefit.models.encoder.dropout import dropout_rate
from phasefit.models.encoder.encoder import Encoder, load_encoder, sentence_vectors
from phasefit.models.seeded import seeded
from phasefit.models.tokens.tokens import Features
from phasefit.models.views import Views, build_views
from tiny import FAMILIES, make_table


def rows(encoder: Encoder, count: int = 8) -> Features:
    return encoder.tokenise([*make_table(count - 1)[0], "rain"]).batch(np.arange(count))


def norms(values: torch.Tensor) -> torch.Tensor:
    return values.flatten(1).norm(dim=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_shift_changes_the_vector_more_than_random_noise_and_has_no_side_effects(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family))).train()
    features = rows(encoder)
    with dropout_rate(encoder, 0.0):
        check(encoder, features)


def check(encoder: Encoder, features: Features) -> None:
    plain = sentence_vectors(encoder(features)).detach()
    plain_again = sentence_vectors(encoder(features))
    plain_again.sum().backward()
    before = {name: p.grad.clone() for name, p in encoder.named_parameters() if p.grad is not None}
    with seeded(0):
        shift = adversarial_shift(encoder, features, epsilon=0.1, xi=0.01)
    assert not shift.requires_grad
    assert before.keys() == {name for name, p in encoder.named_parameters() if p.grad is not None}
    assert all(torch.equal(before[name], encoder.get_parameter(name).grad) for name in before)
    assert encoder.training

    layer = encoder.transformer.get_input_embeddings()
    assert not layer._forward_hooks
    real = features["attention_mask"][:, :, None]
    assert (shift * (1 - real) == 0).all(), "padding is not touched"
    embedded = layer(features["input_ids"]) * real
    assert torch.allclose(norms(shift), 0.1 * norms(embedded), rtol=1e-4)

    with seeded(1):
        chance = torch.randn(shift.shape) * real
    chance *= (norms(shift) / norms(chance))[:, None, None]
    turned = cosine_similarity(plain, moved(encoder, features, shift))
    by_chance = cosine_similarity(plain, moved(encoder, features, chance))
    assert (1 - turned).mean() > 1.5 * (1 - by_chance).mean()


def moved(encoder: Encoder, features: Features, shift: torch.Tensor) -> torch.Tensor:
    handle = encoder.transformer.get_input_embeddings().register_forward_hook(
        lambda _, __, embeddings: embeddings + shift
    )
    with torch.no_grad(), encoder.packing.off():
        vectors = sentence_vectors(encoder(features))
    handle.remove()
    return vectors


@pytest.fixture(scope="module")
def encoder(tiny_encoder) -> Encoder:
    return load_encoder(str(tiny_encoder("bert", dropout=0.0)))


def test_output_is_shifted_and_has_a_gradient(encoder: Encoder) -> None:
    features = rows(encoder)
    with seeded(3):
        shift = adversarial_shift(encoder, features, epsilon=0.2, xi=0.01)
    views = Views(build_views("here", [{"name": "adversarial", "epsilon": 0.2}]), encoder, where="here")
    with seeded(3):
        vectors = sentence_vectors(views.output(features))
    assert torch.allclose(vectors, moved(encoder, features, shift), atol=1e-6)
    (gradient,) = torch.autograd.grad(vectors.sum(), encoder.transformer.get_input_embeddings().weight)
    assert gradient.abs().sum() > 0


def test_shift_depends_on_the_seed_and_works_without_gradient(encoder: Encoder) -> None:
    features, vectors = rows(encoder), []
    for seed in (0, 0, 1):
        with seeded(seed), torch.no_grad():
            vectors.append(sentence_vectors(adversarial_output(encoder, features, epsilon=0.1, xi=0.01)))
    assert torch.equal(vectors[0], vectors[1])
    assert not torch.equal(vectors[0], vectors[2])


def test_a_text_does_not_depend_on_its_neighbours(encoder: Encoder) -> None:
    features = rows(encoder)
    for parameter in encoder.parameters():
        parameter.requires_grad_(False)  # a frozen encoder is shifted all the same
    with seeded(0):
        together = adversarial_shift(encoder, features, epsilon=0.1, xi=0.01)
    with seeded(0):
        alone = adversarial_shift(encoder, {name: part[:1] for name, part in features.items()}, epsilon=0.1, xi=0.01)
    assert torch.allclose(together[:1], alone, atol=1e-4)
    for parameter in encoder.parameters():
        parameter.requires_grad_(True)
