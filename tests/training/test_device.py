from __future__ import annotations

import pytest
import torch

from phasefit.errors import PhasefitError
from phasefit.models.device import pick_device
from phasefit.training.device import make_accelerator, pick_precision, set_threads


@pytest.mark.parametrize("name", ["banana", "cuda:x", "cpu:cpu"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(PhasefitError, match="--device"):
        pick_device(name)


def test_a_device_that_is_not_there_is_not_a_silent_cpu() -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    for name in ("cuda", "mps", "cuda:3"):
        with pytest.raises(PhasefitError, match="no such device"):
            pick_device(name)
    assert pick_device("auto") == pick_device("cpu") == torch.device("cpu")


def test_precision() -> None:
    cpu = torch.device("cpu")
    assert pick_precision("auto", cpu) == "no"
    assert pick_precision("bf16", torch.device("cuda")) == "bf16"
    with pytest.raises(PhasefitError, match="needs a GPU"):
        pick_precision("fp16", cpu)
    with pytest.raises(PhasefitError, match="use auto"):
        pick_precision("half", cpu)


@pytest.mark.parametrize("has_units", [True, False])
def test_a_cpu_needs_units_for_bfloat16(monkeypatch, has_units: bool) -> None:
    monkeypatch.setattr("phasefit.training.device.has_bfloat16_units", lambda: has_units)
    cpu = torch.device("cpu")
    if has_units:
        assert pick_precision("bf16", cpu) == "no"  # not Accelerate's
    else:
        with pytest.raises(PhasefitError, match="a CPU with units for bfloat16"):
            pick_precision("bf16", cpu)


def test_threads() -> None:
    before = torch.get_num_threads()
    assert set_threads(None) == before
    try:
        assert set_threads(1) == 1
    finally:
        torch.set_num_threads(before)
    with pytest.raises(PhasefitError, match="at least 1"):
        set_threads(0)


def test_one_process_can_train_in_one_precision_after_the_other(monkeypatch) -> None:
    assert make_accelerator("cpu", "no").mixed_precision == "no"
    monkeypatch.setattr("phasefit.training.device.pick_precision", lambda name, device: name)
    assert make_accelerator("cpu", "bf16").mixed_precision == "bf16"
    assert make_accelerator("cpu", "no").mixed_precision == "no"
