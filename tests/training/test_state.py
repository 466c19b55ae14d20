"""The state of a phase, saved between two steps and restored into a new phase."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from phasefit.errors import ModelError
from phasefit.phases import PHASES
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from phasefit.training.state import PhaseState, put_weights, weights_of
from tiny import data_for, fresh_model, make_data, make_phase, make_table

STEPS = 6
OPTIONS: dict[str, Any] = {
    **{"min_steps": STEPS, "max_steps": STEPS, "patience": 0, "lr": 1e-3},
    **{"batch_size": 8, "evaluate_every": 2, "accumulate": 2},
}


class Rest:
    """Copies the state at one step, as a checkpoint would."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.tensors: dict[str, torch.Tensor] = {}
        self.facts = ""

    def __call__(self, state: PhaseState) -> None:
        if state.step == self.step:
            tensors = weights_of(phase=state.phase) | state.tensors()
            self.tensors = {name: value.detach().clone() for name, value in tensors.items()}
            self.facts = json.dumps(state.facts())


def built(folder: Path, kind: str, **options: Any) -> Any:
    model = fresh_model(folder)
    data = make_data(model.encoder, *make_table(60), validation=15)
    return make_phase(kind, model, data, **{**OPTIONS, **options})


def train(phase: Any, **more: Any) -> dict[str, torch.Tensor]:
    for _ in train_phase(phase, make_accelerator("cpu"), seed=0, **more):
        pass
    return {name: value.detach().clone() for name, value in phase.named_parameters()}


Whole = tuple[str, dict[str, torch.Tensor], dict[int, Rest]]


@pytest.fixture(scope="module", params=PHASES)
def unbroken(request: pytest.FixtureRequest, tiny_folder: Path) -> Whole:
    """A phase's kind, its weights after all steps, and its state at some of them."""
    rests = {step: Rest(step) for step in (1, 3, STEPS)}
    whole = train(built(tiny_folder, request.param), on_step_end=lambda state: [rest(state) for rest in rests.values()])
    return request.param, whole, rests


@pytest.mark.parametrize("step", [1, 3, STEPS])
def test_a_resumed_phase_matches_an_uninterrupted_one(tiny_folder: Path, unbroken: Whole, step: int) -> None:
    kind, whole, rests = unbroken
    rest = rests[step]
    torch.manual_seed(99)  # another process has another generator
    again = built(tiny_folder, kind)
    taken: list[int] = []

    def resume(state: PhaseState) -> None:
        put_weights(rest.tensors, phase=again)
        state.load(rest.tensors, json.loads(rest.facts))

    resumed = train(again, resume=resume, on_step_end=lambda state: taken.append(state.step))
    assert taken == list(range(step + 1, STEPS + 1))
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_patience_that_ran_out_stays_so(tiny_folder: Path) -> None:
    options = {"patience": 1, "evaluate_every": 1, "max_steps": 50, "lr": 1e-12, "watch": "accuracy", "slack": 0.0}
    seen: list[int] = []
    train(built(tiny_folder, "finetune", **options), on_step_end=lambda state: seen.append(state.step))
    assert seen[-1] < 50
    rest = Rest(seen[-1])
    train(built(tiny_folder, "finetune", **options), on_step_end=rest)
    again = built(tiny_folder, "finetune", **options)

    def resume(state: PhaseState) -> None:
        put_weights(rest.tensors, phase=again)
        state.load(rest.tensors, json.loads(rest.facts))

    train(again, resume=resume, on_step_end=lambda state: pytest.fail(f"step {state.step} was taken"))


def test_what_is_shared_is_stored_once() -> None:
    layer = nn.Linear(3, 3)
    layer.register_buffer("mean", torch.zeros(3))
    both = nn.ModuleList([layer, nn.Linear(3, 3)])
    both[1].weight = layer.weight
    assert list(weights_of(one=layer, two=both)) == ["one.weight", "one.bias", "one.mean", "two.1.bias"]


def test_weights_of_something_else_are_refused() -> None:
    one, other = nn.Linear(3, 3), nn.Linear(3, 4)
    with pytest.raises(ModelError, match=r"does not match.*model\.bias"):
        put_weights(weights_of(model=one), model=other)
    with pytest.raises(ModelError, match="does not match"):
        put_weights({}, model=other)


@pytest.mark.parametrize("step", [2, 4, STEPS])
def test_a_phase_with_sampled_evaluations_and_a_line_resumes_exactly(tiny_folder: Path, step: int) -> None:
    def phase() -> Any:
        model = fresh_model(tiny_folder)
        data = make_data(model.encoder, *make_table(200), validation=150)
        pairs = data_for("cosine", data)
        options = OPTIONS | {"evaluate_every": 1, "pair": "cosine", "slack": 2.0, "max_steps": STEPS}
        return make_phase("finetune", model, pairs, **options)

    rest, first = Rest(step), phase()
    whole = train(first, on_step_end=rest)
    assert first.evaluation_cap is not None
    assert any(name.startswith("second.") for name in rest.tensors), "both candidates are saved"
    assert "contributions" in rest.tensors
    again = phase()

    def resume(state: PhaseState) -> None:
        put_weights(rest.tensors, phase=again)
        state.load(rest.tensors, json.loads(rest.facts))

    resumed = train(again, resume=resume)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
