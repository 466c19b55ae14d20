"""Two processes train to the weights of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from phasefit.objectives import OBJECTIVES
from processes import TRAINED, gathered, launch, shared, trained

# Denoising averages over tokens, of which each process has another number: near, but not the same.
ROUGH = ["denoise", "joint", "alternate"]


@pytest.fixture(scope="module")
def quiet_folder(tiny_encoder) -> Path:
    return tiny_encoder("bert", dropout=0.0)


@pytest.fixture(scope="module")
def two_processes(quiet_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("two")
    launch(quiet_folder, out)
    return out


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gathering_carries_the_gradient_of_one_process(two_processes: Path, name: str) -> None:
    alone = gathered(name, 0, 1)["gradient"]
    assert alone.abs().max() > 1e-3
    for rank in range(2):
        both = load_file(two_processes / f"gather-{name}-{rank}.safetensors")["gradient"]
        assert torch.allclose(both, alone, atol=1e-12)


def test_gathered_parts_that_share_a_gradient(two_processes: Path) -> None:
    alone = shared(0, 1)
    for rank in range(2):
        both = load_file(two_processes / f"shared-{rank}.safetensors")
        assert all(torch.equal(both[side], alone[side][rank : rank + 1]) for side in ("left", "right"))


@pytest.mark.parametrize("name", TRAINED)
def test_both_ranks_end_with_the_same_weights(two_processes: Path, name: str) -> None:
    first, second = (load_file(two_processes / f"{name}-{rank}.safetensors") for rank in range(2))
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in ROUGH])
def test_two_processes_are_as_good_as_one(two_processes: Path, quiet_folder: Path, name: str) -> None:
    alone = trained(name, quiet_folder)
    both = load_file(two_processes / f"{name}-0.safetensors")
    assert alone.keys() == both.keys()
    worst = max((alone[key] - both[key]).abs().max().item() for key in alone)
    assert worst < 2e-5


@pytest.mark.parametrize("name", ROUGH)
def test_two_processes_are_near_one(two_processes: Path, quiet_folder: Path, name: str) -> None:
    alone = trained(name, quiet_folder)
    both = load_file(two_processes / f"{name}-0.safetensors")
    assert max((alone[key] - both[key]).abs().max().item() for key in alone) < 5e-3
