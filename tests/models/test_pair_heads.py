"""Heads for pairs: how the two vectors are combined."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from phasefit.models.heads import SCALE, Head, PairKind

every_pair = pytest.mark.parametrize("pair", get_args(PairKind))
every_kind = pytest.mark.parametrize("kind", ["mlp", "linear", "cosine"])


@pytest.fixture
def vectors() -> Tensor:
    """Five pairs of eight dimensions."""
    return torch.randn(5, 16, generator=torch.Generator().manual_seed(0))


@every_pair
@every_kind
@pytest.mark.parametrize("classes", [1, 3])
def test_a_pair_gets_one_row_of_logits(pair: PairKind, kind, classes: int, vectors) -> None:
    logits = Head(kind, 8, classes, pair=pair).eval()(vectors)
    assert logits.shape == (5, classes)
    assert torch.isfinite(logits).all()


@every_pair
@every_kind
def test_config_builds_the_same_layers(pair: PairKind, kind, vectors) -> None:
    head = Head(kind, 8, 3, dropout=0.25, seed=1, pair=pair)
    again = Head(**head.config())
    again.load_state_dict(head.state_dict())
    assert torch.equal(head.eval()(vectors), again.eval()(vectors))
    assert again.config() == head.config()
    assert head.config()["pair"] == pair


def test_the_config_of_a_head_for_single_texts_has_no_pair() -> None:
    assert "pair" not in Head("mlp", 8, 3).config()


@every_pair
@every_kind
def test_a_grown_head_keeps_the_outputs_of_the_old_classes(pair: PairKind, kind, vectors) -> None:
    head = Head(kind, 8, 3, seed=1, pair=pair).eval()
    if pair == "together":
        with torch.no_grad():
            head.combine.weight.copy_(torch.tensor([[0.2, 0.9]]))  # as if it had been trained
    more = head.grown(5, seed=2).eval()
    assert torch.allclose(more(vectors)[:, :3], head(vectors), atol=1e-6)
    assert more.classes == more(vectors).shape[1] == 5
    assert more.pair == pair


@every_pair
def test_every_parameter_learns(pair: PairKind, vectors) -> None:
    head = Head("mlp", 8, 3, pair=pair)
    head(vectors).sub(1.0).square().sum().backward()  # some begin at zero
    for name, parameter in head.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@every_pair
def test_dropout_can_be_changed_everywhere(pair: PairKind) -> None:
    head = Head("mlp", 8, 3, pair=pair)
    head.set_dropout(0.4)
    assert head.config()["dropout"] == 0.4
    assert all(layer.p == 0.4 for layer in head.modules() if isinstance(layer, torch.nn.Dropout))


@every_kind
def test_together_starts_as_the_mean_of_the_two_orders(kind, vectors) -> None:
    head = Head(kind, 8, 3, pair="together", seed=1).eval()
    seen = SCALE * torch.nn.functional.normalize(vectors.reshape(5, 2, 8), dim=2)
    seen = seen if kind == "cosine" else vectors.reshape(5, 2, 8)
    mean = (head.layers(seen[:, 0]) + head.second(seen[:, 1])) / 2
    assert torch.allclose(head(vectors), mean, atol=1e-6)


def test_each_order_has_its_own_layers() -> None:
    head = Head("mlp", 8, 3, pair="together", seed=1)
    assert not torch.equal(head.layers[-1].weight, head.second[-1].weight)


def test_together_with_two_classes_is_one_logit_per_order_and_a_layer_of_two(vectors) -> None:
    """The head of the CS224N report: a linear layer per order, a 2 -> 1 layer, and a sigmoid (BCE)."""
    head = Head("linear", 8, 2, pair="together", seed=1).eval()
    torch.nn.init.normal_(head.combine.weight, generator=torch.Generator().manual_seed(0))
    (first, first_bias), (second, second_bias) = (
        (stack[-1].weight[1] - stack[-1].weight[0], stack[-1].bias[1] - stack[-1].bias[0])
        for stack in (head.layers, head.second)
    )
    orders = torch.stack([vectors[:, :8] @ first + first_bias, vectors[:, 8:] @ second + second_bias], dim=1)
    logit = (orders @ head.combine.weight.T)[:, 0]
    labels = torch.tensor([0, 1, 1, 0, 1])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logit, labels.float())
    assert torch.allclose(torch.nn.functional.cross_entropy(head(vectors), labels), expected, atol=1e-5)


def test_cosine_depends_only_on_the_angle(vectors) -> None:
    head = Head("mlp", 8, 3, pair="cosine").eval()
    left, right = vectors[:, :8], vectors[:, 8:]
    assert torch.allclose(head(torch.cat([3 * left, 0.1 * right], dim=1)), head(vectors), atol=1e-5)
    assert torch.allclose(head(torch.cat([right, left], dim=1)), head(vectors), atol=1e-6)
    alike = SCALE * cosine_similarity(left, right, dim=1)[:, None]
    assert torch.allclose(head(vectors), alike * head.output.weight.T + head.output.bias, atol=1e-5)


def test_difference_and_product_are_appended_to_both_vectors(vectors) -> None:
    head = Head("linear", 8, 3, pair="uv_diff_prod").eval()
    left, right = vectors[:, :8], vectors[:, 8:]
    seen = torch.cat([left, right, (left - right).abs(), left * right], dim=1)
    assert torch.allclose(head(vectors), seen @ head.output.weight.T + head.output.bias, atol=1e-5)


@pytest.mark.parametrize("pair", ["uv", "uv_diff_prod", "together"])
def test_the_order_of_a_pair_may_matter(pair: PairKind, vectors) -> None:
    head = Head("mlp", 8, 3, pair=pair).eval()
    swapped = torch.cat([vectors[:, 8:], vectors[:, :8]], dim=1)
    assert not torch.allclose(head(vectors), head(swapped), atol=1e-3)
