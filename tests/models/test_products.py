"""Wide layers multiply with oneDNN on CPUs of AMD, and in bfloat16 while they are trained if asked to."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from phasefit.data.labels import label_space
from phasefit.errors import PhasefitError
from phasefit.models.encoder import products
from phasefit.models.encoder.products import (
    NARROW,
    mkl_is_slow,
    multiply_as_torch,
    multiply_with_onednn,
    train_in_bfloat16,
)
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
    monkeypatch.setattr(products, "train_in_bfloat16", changed.append)
    prepared = SimpleNamespace(tasks={}, space=label_space(["a", "b"]))
    model = starting_model(run_spec("some.csv", model=str(tiny_folder), device="cpu", precision=precision), prepared)
    assert changed == ([model.encoder.transformer] if precision == "bf16" else [])


def test_it_cannot_be_compiled(tiny_folder) -> None:
    prepared = SimpleNamespace(tasks={}, space=label_space(["a", "b"]))
    spec = run_spec("some.csv", model=str(tiny_folder), device="cpu", precision="bf16", compile=True)
    with pytest.raises(PhasefitError, match="cannot be combined with --compile"):
        starting_model(spec, prepared)


needs_onednn = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")),
    reason="this build of torch has no oneDNN",
)


@needs_onednn
@pytest.mark.parametrize("shape", [(5,), (3, 4), (1,), (0,)])
@pytest.mark.parametrize("bias", [True, False])
def test_onednn_gives_the_same_products_and_gradients(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(NARROW, 2 * NARROW, bias=bias), nn.Tanh(), nn.Linear(2 * NARROW, NARROW, bias=bias))
    other = copy.deepcopy(plain)
    multiply_with_onednn(other)
    states, results = torch.randn(*shape, NARROW), []
    for one in (plain, other):
        inputs = states.clone().requires_grad_()
        one(inputs).square().sum().backward()
        results.append((one(inputs), inputs.grad, *(weight.grad for weight in one.parameters())))
        with torch.inference_mode():
            results[-1] += (one(states),)
    for exact, close in zip(*results, strict=True):
        torch.testing.assert_close(close, exact, rtol=1e-4, atol=1e-4)


@needs_onednn
def test_frozen_weights_stay_frozen_with_onednn() -> None:
    layer = nn.Sequential(nn.Linear(NARROW, NARROW))
    multiply_with_onednn(layer)
    layer[0].weight.requires_grad_(False)
    layer(torch.randn(4, NARROW)).sum().backward()
    assert layer[0].weight.grad is None
    assert layer[0].bias.grad is not None
    layer[0].bias.requires_grad_(False)
    assert not layer(torch.randn(4, NARROW)).requires_grad


@needs_onednn
def test_onednn_is_left_out_where_it_does_not_belong() -> None:
    """Other types, compilers and exporters get torch's own product."""
    layer = nn.Linear(NARROW, NARROW)
    whole = nn.Sequential(layer)
    multiply_with_onednn(whole)
    assert whole.double()(torch.randn(2, NARROW, dtype=torch.float64)).dtype == torch.float64
    program = torch.export.export(whole.float().eval(), (torch.randn(2, NARROW),))
    assert not any("mkldnn" in str(node.target) for node in program.graph.nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(whole, torch.randn(2, NARROW))  # as the exporter to ONNX does
    assert "mkldnn" not in str(traced.inlined_graph)
    multiply_as_torch(whole)
    assert "forward" not in vars(layer)


@pytest.mark.parametrize(("maker", "slow"), [("AuthenticAMD", True), ("GenuineIntel", False)])
def test_mkl_is_slow_on_amd_only(monkeypatch, tmp_path, maker: str, slow: bool) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(f"processor : 0\nvendor_id : {maker}\n", encoding="utf-8")
    monkeypatch.setattr(products, "CPU_INFO", info)
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    try:
        mkl_is_slow.cache_clear()
        assert mkl_is_slow() is (slow and libraries)
    finally:
        mkl_is_slow.cache_clear()
