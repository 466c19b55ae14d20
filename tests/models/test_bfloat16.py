"""Wide layers multiply in bfloat16 while they are trained; everything else stays in full precision."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from phasefit.data.labels import label_space
from phasefit.errors import PhasefitError
from phasefit.models.encoder import bfloat16
from phasefit.models.encoder.bfloat16 import NARROW, train_in_bfloat16
from phasefit.runs.fitting.starting import starting_model
from specs import run_spec

ROUNDING = 2**-7  # of two factors in bfloat16


@pytest.fixture
def layers() -> tuple[nn.Sequential, nn.Sequential]:
    """The same layers in full precision and with products in bfloat16; the last is too narrow for them."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(NARROW, 2 * NARROW), nn.GELU(), nn.Linear(2 * NARROW, 3))
    rounded = copy.deepcopy(plain)
    train_in_bfloat16(rounded)
    return plain, rounded


def test_products_and_gradients_differ_by_rounding_only(layers) -> None:
    states = torch.randn(2, 5, NARROW)
    results = []
    for one in layers:
        inputs = states.clone().requires_grad_()
        one(inputs).square().mean().backward()
        results.append((one(inputs), inputs.grad, *(weight.grad for weight in one.parameters())))
    for exact, rounded in zip(*results, strict=True):
        assert rounded.dtype == torch.float32
        assert rounded.shape == exact.shape
        difference = (rounded - exact).norm() / exact.norm()
        assert 0 < difference < ROUNDING


def test_evaluation_is_exact_and_files_do_not_change(layers) -> None:
    plain, rounded = (one.eval() for one in layers)
    states = torch.randn(7, NARROW)
    assert torch.equal(plain(states), rounded(states))
    assert plain.state_dict().keys() == rounded.state_dict().keys()
    narrow = plain[2].train(), rounded[2].train()
    wide = torch.randn(7, 2 * NARROW)
    assert torch.equal(narrow[0](wide), narrow[1](wide))


def test_frozen_weights_get_no_gradient(layers) -> None:
    rounded = layers[1]
    rounded[0].weight.requires_grad_(False)
    rounded(torch.randn(4, NARROW)).sum().backward()
    assert rounded[0].weight.grad is None
    assert rounded[0].bias.grad is not None


def test_copies_use_their_own_weights(layers) -> None:
    rounded = layers[1]
    states = torch.randn(4, NARROW)
    for other in (copy.deepcopy(rounded), pickle.loads(pickle.dumps(rounded))):  # noqa: S301 (our own bytes)
        before = other(states)
        with torch.no_grad():
            rounded[0].weight.zero_()
        assert torch.equal(other(states), before)


@pytest.mark.parametrize("precision", ["bf16", "auto", "no"])
def test_only_bf16_changes_the_layers_of_a_run(tiny_folder, monkeypatch, precision: str) -> None:
    changed: list[nn.Module] = []
    monkeypatch.setattr(bfloat16, "train_in_bfloat16", changed.append)
    prepared = SimpleNamespace(tasks={}, space=label_space(["a", "b"]))
    model = starting_model(run_spec("some.csv", model=str(tiny_folder), device="cpu", precision=precision), prepared)
    assert changed == ([model.encoder.transformer] if precision == "bf16" else [])


def test_it_cannot_be_compiled(tiny_folder) -> None:
    prepared = SimpleNamespace(tasks={}, space=label_space(["a", "b"]))
    spec = run_spec("some.csv", model=str(tiny_folder), device="cpu", precision="bf16", compile=True)
    with pytest.raises(PhasefitError, match="cannot be combined with --compile"):
        starting_model(spec, prepared)
