"""The losses of heads, compared with those of torch and with values computed by hand."""

from __future__ import annotations

from math import log

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss, nll_loss

from phasefit.objectives.head_losses import BinaryCrossEntropy, SquaredError, UpperLevels


@pytest.fixture
def logits() -> Tensor:
    return 3 * torch.randn(7, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def sets() -> Tensor:
    return torch.rand(7, 4, generator=torch.Generator().manual_seed(1)) < 0.4


# --- several labels ---------------------------------------------------------------------------------------------------


def test_several_labels_are_torchs_binary_cross_entropy(logits: Tensor, sets: Tensor) -> None:
    theirs = binary_cross_entropy_with_logits(logits, sets.float())
    assert torch.allclose(BinaryCrossEntropy()(logits, sets), theirs)
    assert torch.allclose(BinaryCrossEntropy(focal=0.0)(logits, sets), theirs)


def test_weights_apply_to_the_texts_that_have_a_label(logits: Tensor, sets: Tensor) -> None:
    weights = torch.tensor([1.0, 2.0, 5.0, 10.0])
    loss = BinaryCrossEntropy()(logits, sets, weights)
    assert torch.allclose(loss, binary_cross_entropy_with_logits(logits, sets.float(), pos_weight=weights))
    nowhere = torch.zeros_like(sets)
    assert torch.equal(BinaryCrossEntropy()(logits, nowhere, weights), BinaryCrossEntropy()(logits, nowhere))


def test_smoothing_lowers_the_target(logits: Tensor, sets: Tensor) -> None:
    target = torch.where(sets, 0.9, 0.1)
    loss = BinaryCrossEntropy(label_smoothing=0.2)(logits, sets)
    assert torch.allclose(loss, binary_cross_entropy_with_logits(logits, target))


@pytest.mark.parametrize("focal", [0.5, 2.0])
def test_focal_weights_each_label_by_its_error(logits: Tensor, sets: Tensor, focal: float) -> None:
    right = torch.where(sets, logits.sigmoid(), 1 - logits.sigmoid())
    expected = ((1 - right) ** focal * -right.log()).mean()
    assert torch.allclose(BinaryCrossEntropy(focal=focal)(logits, sets), expected, rtol=1e-4)
    assert expected < BinaryCrossEntropy()(logits, sets)


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_are_torchs_squared_error(dtype: torch.dtype) -> None:
    predicted, true = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([1.0, 0.0, 1.0], dtype=dtype)
    loss = SquaredError()(predicted, true)
    assert loss.dtype == predicted.dtype
    assert loss.item() == pytest.approx(13 / 3)
    assert torch.equal(loss, mse_loss(predicted[:, 0], true.float()))


# --- upper levels -----------------------------------------------------------------------------------------------------

# Three levels: a/x/1, a/x/2, a/y/3, b/z/4. The nodes of the first are a and b, of the second a/x, a/y and b/z.
NODES = torch.tensor([[0, 0], [0, 0], [0, 1], [1, 2]])


def test_upper_levels_by_hand() -> None:
    likely = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
    loss = UpperLevels(NODES)(likely.log(), torch.tensor([0, 3]))
    first, second = -(log(0.6) + log(0.25)) / 2, -(log(0.3) + log(0.25)) / 2
    assert loss.item() == pytest.approx((first + second) / 2)


def test_the_last_level_as_an_upper_one_is_cross_entropy(logits: Tensor) -> None:
    codes = torch.tensor([0, 1, 2, 3, 3, 2, 1])
    assert torch.allclose(UpperLevels(torch.arange(4)[:, None])(logits, codes), cross_entropy(logits, codes))


def test_an_upper_level_is_the_cross_entropy_of_the_sums(logits: Tensor) -> None:
    codes = torch.tensor([0, 1, 2, 3, 3, 2, 1])
    likely = logits.softmax(dim=1)
    sums = torch.stack([likely[:, :3].sum(dim=1), likely[:, 3]], dim=1)
    loss = UpperLevels(NODES[:, :1])(logits, codes)
    assert torch.allclose(loss, nll_loss(sums.log(), NODES[codes, 0]))


def test_a_mistake_below_the_right_node_costs_nothing_above() -> None:
    logits = torch.tensor([[0.0, 50.0, 0.0, 0.0]])
    assert UpperLevels(NODES)(logits, torch.tensor([0])).item() == pytest.approx(0, abs=1e-6)


# --- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.0, 1.0, 80.0, 1e4])
@pytest.mark.parametrize("loss", ["plain", "focal", "smooth", "weighted", "score", "upper"])
def test_gradients_are_finite_for_extreme_logits(logits: Tensor, size: float, loss: str) -> None:
    given = (size * logits).requires_grad_()
    sets = torch.arange(28).reshape(7, 4) % 3 == 0
    value = {
        "plain": lambda: BinaryCrossEntropy()(given, sets),
        "focal": lambda: BinaryCrossEntropy(focal=0.5)(given, sets),
        "smooth": lambda: BinaryCrossEntropy(label_smoothing=0.1, focal=2.0)(given, sets),
        "weighted": lambda: BinaryCrossEntropy(focal=2.0)(given, sets, torch.full((4,), 100.0)),
        "score": lambda: SquaredError()(given[:, :1], torch.arange(7)),
        "upper": lambda: UpperLevels(NODES)(given, torch.arange(7) % 4),
    }[loss]()
    value.backward()
    assert value.ndim == 0
    assert torch.isfinite(value)
    assert torch.isfinite(given.grad).all()
