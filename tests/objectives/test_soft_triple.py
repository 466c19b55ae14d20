"""SoftTriple at the size that TripleEntropy uses: 2,000 centres per class, thousands of tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.utils._python_dispatch import TorchDispatchMode

from phasefit.objectives import SoftTriple, chunks


class Largest(TorchDispatchMode):
    """Records the size of the largest tensor that is created."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, tuple | list) else [made]:
            if isinstance(each, Tensor):
                self.numbers = max(self.numbers, each.numel())
        return made


def batch(texts: int, length: int, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(texts, length, width, dtype=dtype, generator=generator).requires_grad_()
    mask = torch.rand(texts, length, generator=generator) < 0.8
    return states, mask, torch.randint(0, 6, (texts,), generator=generator)


def learned(objective: SoftTriple, width: int, dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(0)
    return objective.parameters(6, width).to(dtype)


def test_memory_is_bounded_for_two_thousand_centres() -> None:
    objective = SoftTriple(centres=2000, scale=3.3, margin=0.3)
    states, mask, targets = batch(20, 100, 4, torch.float32)
    centres, kept = learned(objective, 4, torch.float32), []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with Largest() as largest:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = objective.tokens(states, mask.new_ones(mask.shape), targets, parameters=centres)
        loss.backward()
    assert 1_000_000 < largest.numbers <= max(chunks.BUDGET, 2000 * 2000)  # not 2,000 x 12,000, nor 12,000 x 12,000
    assert sum(kept) < 2_000_000
    assert torch.isfinite(loss)
    assert torch.isfinite(states.grad).all()
    assert torch.isfinite(centres.fc.grad).all()


def test_chunks_change_neither_loss_nor_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = SoftTriple(centres=5)
    results = []
    for budget in (10**9, 30 * 7, 1):  # everything at once; 7 tokens; one at a time
        monkeypatch.setattr(chunks, "BUDGET", budget)
        states, mask, targets = batch(6, 8, 4, torch.float64)
        centres = learned(objective, 4, torch.float64)
        loss = objective.tokens(states, mask, targets, parameters=centres)
        loss.backward()
        results.append((loss.detach(), states.grad, centres.fc.grad))
        assert not states.grad[~mask].any(), "padding teaches nothing"
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-12)


def test_the_regulariser_term_by_term() -> None:
    objective = SoftTriple(centres=4, regulariser=1.0)
    centres = learned(objective, 5, torch.float64)
    z, y = torch.randn(6, 5, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 4, 5])
    plain = SoftTriple(centres=4, regulariser=0.0)
    term = objective(z, y, parameters=centres) - plain(z, y, parameters=centres)
    expected = 0.0
    for some in normalize(centres.fc.detach(), dim=0).T.split(4):
        expected += sum(float((2 + 1e-5 - 2 * some[s] @ some[t]).sqrt()) for s in range(4) for t in range(s + 1, 4))
    assert term.item() == pytest.approx(expected / (6 * 4 * 3), abs=1e-9)


def test_equal_centres_have_a_finite_gradient() -> None:
    objective = SoftTriple(centres=3)
    centres = learned(objective, 4, torch.float32)
    centres.fc.data = torch.ones(4, 18)
    objective(torch.randn(6, 4), torch.arange(6), parameters=centres).backward()
    assert torch.isfinite(centres.fc.grad).all()


def test_one_centre_has_nothing_to_regularise() -> None:
    centres = learned(SoftTriple(centres=1), 4, torch.float32)
    z, y = torch.randn(6, 4), torch.arange(6)
    weighed, plain = (SoftTriple(centres=1, regulariser=weight)(z, y, parameters=centres) for weight in (5.0, 0.0))
    assert torch.equal(weighed, plain)


def test_only_the_centres_are_saved() -> None:
    assert list(SoftTriple().parameters(3, 4).state_dict()) == ["fc"]


def test_it_stays_in_full_precision_under_autocast() -> None:
    objective = SoftTriple(centres=2)
    z, y = torch.randn(6, 4), torch.arange(6)
    plain = objective(z, y, parameters=learned(objective, 4, torch.float32))
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.equal(objective(z, y, parameters=learned(objective, 4, torch.float32)), plain)
