"""The variational bottleneck and the texts it generates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal
from torch.distributions import kl_divergence as torch_kl

from phasefit.models.decoders.light import LightDecoder
from phasefit.models.decoders.vae import Generator, kl_divergence
from phasefit.models.encoder.encoder import load_encoder
from tiny import HIDDEN, make_table


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return load_encoder(str(tiny_folder))


@pytest.fixture(scope="module")
def tokens(encoder):
    return encoder.tokenise(make_table(16)[0])


@pytest.fixture
def generator(encoder, tokens) -> Generator:
    return Generator(LightDecoder(encoder, np.unique(tokens.ids), 64, seed=0), HIDDEN)


def test_the_divergence_equals_the_formula() -> None:
    mu, logvar = torch.tensor([[1.0, -1.0]]).double(), torch.tensor([[0.0, 0.5]]).double()
    assert kl_divergence(mu, logvar).item() == pytest.approx(1.074361, abs=1e-6)
    wide = torch.linspace(-2, 2, 12).double().reshape(3, 4)
    theirs = torch_kl(Normal(wide, (wide.flip(0) / 2).exp()), Normal(0.0, 1.0)).sum(dim=1).mean()
    assert kl_divergence(wide, wide.flip(0)).item() == pytest.approx(theirs.item(), abs=1e-12)
    assert kl_divergence(torch.zeros(2, 3), torch.zeros(2, 3)).item() == 0


def test_the_initial_mean_is_the_vector_itself(generator: Generator, tokens) -> None:
    vectors, clean = torch.randn(16, HIDDEN), tokens.batch(np.arange(16))
    generator.eval()
    assert torch.equal(generator.mu(vectors), vectors)
    reconstruction, _ = generator(vectors, clean)
    assert reconstruction.item() == pytest.approx(generator.decoder(vectors, clean).item())
    generator.decoder.train(False)
    generator.training = True
    draws = {generator(vectors, clean)[0].item() for _ in range(3)}
    assert len(draws) == 3, "in training it is a draw"


def test_texts_start_and_end_with_the_given_tokens(generator: Generator, tokens) -> None:
    generator.eval()
    begin, end = torch.from_numpy(tokens.ids[tokens.starts[:-1]]), torch.from_numpy(tokens.ids[tokens.starts[1:] - 1])
    vectors = 5 * torch.randn(16, HIDDEN)
    for temperature in (0.0, 1.0):
        ids, lengths = generator.decoder.generate(vectors, begin.long(), end.long(), 9, temperature=temperature)
        assert ids.shape == (16, 9)
        assert set(ids.unique().tolist()) <= {*np.unique(tokens.ids).tolist(), 0}
        for row, length in enumerate(lengths.tolist()):
            assert 2 <= length <= 9
            assert ids[row, 0] == begin[row]
            assert ids[row, length - 1] == end[row]
            assert not (ids[row, 1 : length - 1] == end[row]).any()


def test_a_trained_decoder_reproduces_a_text(generator: Generator, tokens) -> None:
    rows = np.array([0, 1])
    vectors, clean = torch.eye(2, HIDDEN) * 3, tokens.batch(rows)
    optimiser = torch.optim.Adam(generator.decoder.parameters(), lr=2e-2)
    torch.manual_seed(0)
    for _ in range(80):
        optimiser.zero_grad()
        generator.decoder(vectors, clean).backward()
        optimiser.step()
    generator.eval()
    begin, end = (
        torch.from_numpy(tokens.ids[tokens.starts[rows]]),
        torch.from_numpy(tokens.ids[tokens.starts[rows + 1] - 1]),
    )
    ids, lengths = generator.decoder.generate(vectors, begin.long(), end.long(), 40)
    for row in rows:
        wanted = tokens.ids[tokens.starts[row] : tokens.starts[row + 1]].tolist()
        assert ids[row, : lengths[row]].tolist() == wanted
