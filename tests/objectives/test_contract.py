"""What every objective promises, tomorrow's included."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from phasefit.objectives import OBJECTIVES, Cosine

BATCHES: dict[str, Tensor] = {
    "classes": torch.tensor([0, 0, 1, 1, 2, 2, 1, 0]),
    "one class": torch.zeros(8, dtype=torch.long),
    "no positives": torch.arange(8),
    "a lone anchor": torch.tensor([0, 0, 0, 0, 1, 1, 1, 2]),
    "tree": torch.tensor([[0, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1], [2, 2]]),
    "tree of one path": torch.tensor([[1, 2, 3]] * 8),
    "several labels": torch.tensor([[True, False], [True, True], [False, True], [False, False]] * 2),
    "one row": torch.tensor([3]),
    "no row": torch.empty(0, dtype=torch.long),
}
VARIANTS = [(name, OBJECTIVES[name]()) for name in OBJECTIVES] + [("cosine even", Cosine(even=True))]
every_objective = pytest.mark.parametrize(
    "objective", [each for _, each in VARIANTS], ids=[name for name, _ in VARIANTS]
)
every_batch = pytest.mark.parametrize("targets", BATCHES.values(), ids=BATCHES)


def embeddings(n: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(n, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


@every_objective
@every_batch
def test_finite_and_differentiable(objective, targets) -> None:
    z = embeddings(len(targets)).requires_grad_()
    loss = objective(z, targets)
    assert loss.shape == ()
    assert torch.isfinite(loss)
    loss.backward()
    assert torch.isfinite(z.grad).all()
    if len(targets) < 2:
        assert loss == 0
        assert not z.grad.any()


@every_objective
@pytest.mark.parametrize("targets", [BATCHES["classes"], BATCHES["tree"], BATCHES["several labels"]])
def test_it_has_something_to_learn_from_a_plain_batch(objective, targets) -> None:
    z = embeddings(len(targets)).requires_grad_()
    objective(z, targets).backward()
    assert z.grad.abs().sum() > 0


@every_objective
@every_batch
def test_the_order_of_rows_does_not_matter(objective, targets) -> None:
    z, order = embeddings(len(targets)), torch.randperm(len(targets), generator=torch.Generator().manual_seed(1))
    assert float(objective(z[order], targets[order])) == pytest.approx(float(objective(z, targets)), abs=1e-9)


@every_objective
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@every_batch
def test_finite_in_every_precision(objective, targets, dtype) -> None:
    z = embeddings(len(targets), dtype).requires_grad_()
    loss = objective(z, targets)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


@every_objective
def test_finite_when_vectors_collapse(objective) -> None:
    for z in (torch.zeros(8, 5), torch.ones(8, 5), torch.full((8, 5), 1e-20), torch.full((8, 5), 1e4)):
        leaf = z.requires_grad_()
        loss = objective(leaf, BATCHES["classes"])
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(leaf.grad).all()


@every_objective
def test_gradient_is_right(objective) -> None:
    z = embeddings(6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: objective(x, BATCHES["classes"][:6]), (z,))


@every_objective
def test_better_vectors_have_a_lower_loss(objective) -> None:
    targets = torch.tensor([0, 0, 1, 1])
    right = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    wrong = right[[0, 2, 1, 3]]
    assert objective(right, targets) < objective(wrong, targets)


@every_objective
def test_what_it_can_be_fed_is_declared(objective) -> None:
    assert "labelled" in objective.inputs
    assert set(objective.inputs) <= {"labelled", "pairs"}
    assert ("pairs" in objective.inputs) == hasattr(objective, "pairs")


@pytest.mark.parametrize("objective", [each for _, each in VARIANTS if "pairs" in each.inputs])
def test_no_pairs_are_zero(objective) -> None:
    left = torch.empty(0, 4, requires_grad=True)
    loss = objective.pairs(left, left, torch.empty(0))
    loss.backward()
    assert loss.item() == 0.0
