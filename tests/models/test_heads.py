from __future__ import annotations

import pytest
import torch

from phasefit.models.heads import Head


@pytest.fixture
def vectors() -> torch.Tensor:
    return torch.randn(5, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", ["mlp", "linear", "cosine", "paper"])
def test_a_grown_head_keeps_the_outputs_of_the_old_classes(kind, vectors) -> None:
    head = Head(kind, 8, 3, seed=1).eval()
    more = head.grown(5, seed=2).eval()
    assert torch.allclose(head(vectors), more(vectors)[:, :3], atol=1e-6)
    assert more.classes == more(vectors).shape[1] == 5
    assert not torch.equal(more(vectors), head.grown(5, seed=3).eval()(vectors))


@pytest.mark.parametrize("kind", ["mlp", "linear", "cosine", "paper"])
def test_config_builds_the_same_layers(kind, vectors) -> None:
    head = Head(kind, 8, 3, dropout=0.25, seed=1)
    again = Head(**head.config())
    again.load_state_dict(head.state_dict())
    assert torch.equal(head.eval()(vectors), again.eval()(vectors))
    assert again.config() == head.config()


def test_the_seed_determines_the_initial_weights() -> None:
    first, again, other = (Head("mlp", 8, 3, seed=seed).output.weight for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_mlp_has_two_layers_and_the_linear_one() -> None:
    for kind, count in (("mlp", 2), ("linear", 1), ("cosine", 1), ("paper", 2)):
        assert sum(isinstance(layer, torch.nn.Linear) for layer in Head(kind, 8, 3).layers) == count


def test_a_cosine_head_depends_only_on_directions(vectors) -> None:
    head = Head("cosine", 8, 3).eval()
    assert torch.allclose(head(vectors), head(7 * vectors), atol=1e-6)


def test_the_papers_head_has_a_hidden_layer_of_100_and_no_activation() -> None:
    first, dropout, last = Head("paper", 8, 3, dropout=0.3).layers
    assert (first.in_features, first.out_features, last.in_features, last.out_features) == (8, 100, 100, 3)
    assert dropout.p == 0.3
