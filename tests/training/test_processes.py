"""Several processes train to the weights of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from phasefit.objectives import OBJECTIVES
from phasefit.phases import PHASES
from processes import (
    SCORES,
    SHARDED,
    TRAINED,
    WITH_DROPOUT,
    evaluated,
    gathered,
    largest_difference,
    launch,
    shared,
    trained,
    trained_rows,
)

AGREEMENT = 2e-5


@pytest.fixture(scope="module")
def quiet_folder(tiny_encoder) -> Path:
    return tiny_encoder("bert", dropout=0.0)


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.long)])
def results(
    request: pytest.FixtureRequest, quiet_folder: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The folder of the results and the number of processes, as one prefix per rank."""
    out = tmp_path_factory.mktemp("processes")
    launch(quiet_folder, tiny_folder, out, request.param)
    return [out / str(rank) for rank in range(request.param)]


def result(rank: Path, name: str) -> dict[str, torch.Tensor]:
    return load_file(rank.parent / f"{name}-{rank.name}.safetensors")


def test_every_phase_is_trained() -> None:
    assert {kind for kind, _ in TRAINED.values()} == set(PHASES)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gathering_carries_the_gradient_of_one_process(results: list[Path], name: str) -> None:
    alone = gathered(name, 0, 1)["gradient"]
    assert alone.abs().max() > 1e-3
    for rank in results:
        assert torch.allclose(result(rank, f"gather-{name}")["gradient"], alone, atol=1e-12)


def test_gathered_parts_that_share_a_gradient(results: list[Path]) -> None:
    alone, each = shared(0, 1), 4 // len(results)
    for number, rank in enumerate(results):
        own = slice(number * each, (number + 1) * each)
        part = result(rank, "shared")
        assert all(torch.equal(part[side], alone[side][own]) for side in ("left", "right"))


def test_evaluations_are_divided_among_the_processes(results: list[Path], quiet_folder: Path) -> None:
    alone, parts = evaluated(quiet_folder), [result(rank, "evaluated") for rank in results]
    assert all(torch.equal(part["vectors"], alone["vectors"]) for part in parts)
    counts = [int(part["encoded"]) for part in parts]
    assert sum(counts) == int(alone["encoded"])
    assert max(counts) - min(counts) <= 4, "one batch"


@pytest.mark.parametrize("name", TRAINED)
def test_all_ranks_end_with_the_same_weights(results: list[Path], name: str) -> None:
    first, *others = (result(rank, name) for rank in results)
    assert all(torch.equal(first[key], other[key]) for other in others for key in first)


@pytest.mark.parametrize("name", TRAINED)
def test_several_processes_are_as_good_as_one(results: list[Path], quiet_folder: Path, name: str) -> None:
    alone, together = trained(name, quiet_folder), result(results[0], name)
    assert any(key.startswith(SCORES) for key in alone)
    assert largest_difference(alone, together) < AGREEMENT


@pytest.mark.parametrize("name", SHARDED)
def test_sharded_processes_are_as_good_as_one(results: list[Path], quiet_folder: Path, name: str) -> None:
    alone = trained(name, quiet_folder)
    for rank in results:
        assert largest_difference(alone, result(rank, f"sharded-{name}")) < AGREEMENT


def test_sharded_training_can_be_resumed(results: list[Path]) -> None:
    whole = {key: value for key, value in result(results[0], "sharded-finetune").items() if not key.startswith(SCORES)}
    for rank in results:
        again = result(rank, "resumed")
        assert whole.keys() == again.keys()
        assert all(torch.equal(whole[key], again[key]) for key in whole)


@pytest.mark.parametrize("name", WITH_DROPOUT)
def test_with_dropout_several_processes_train_on_the_rows_of_one(
    results: list[Path], tiny_folder: Path, name: str
) -> None:
    alone, parts = trained_rows(name, tiny_folder), [result(rank, f"rows-{name}") for rank in results]
    assert alone.keys() == parts[0].keys()
    for step, rows in alone.items():
        assert torch.equal(torch.cat([part[step] for part in parts]), rows), "every row once, in the same order"
