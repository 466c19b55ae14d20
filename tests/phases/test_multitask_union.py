"""The schedule `union`: what a step computes, alone, accumulated, split over processes and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.models.model import Model
from phasefit.phases.contract import Batch, PhaseData
from phasefit.phases.multitask.phase import Multitask
from phasefit.training.device import make_accelerator
from phasefit.training.gradients import add_gradients
from phasefit.training.loop import train_phase
from phasefit.training.schedule import Schedule
from phasefit.training.state import PhaseState, put_weights, weights_of
from several_tasks import TASKS, TRAIN, batches_of, made, tasks_of
from tiny import fresh_model, same, weights

TOTAL = len(TASKS) * TRAIN


@pytest.fixture
def data(model: Model) -> PhaseData:
    return tasks_of(model)


def gradients(phase: Multitask) -> dict[str, torch.Tensor]:
    taken = {name: value.grad.clone() for name, value in phase.named_parameters() if value.grad is not None}
    phase.zero_grad()
    return taken


def mean_by_hand(phase: Multitask, batch: Batch, task_weights: dict[str, float]) -> float:
    """Each task of the batch by itself, as a step of another schedule, then the weighted mean."""
    losses, factors = [], []
    for place, name in enumerate(TASKS):
        own = batch.draw["task"] == place
        if own.any():
            alone = {"rows": batch.draw["rows"][own], "task": batch.draw["task"][own]}
            losses.append(phase(Batch(alone, batch.generator, batch.device)).scalars[name].item())
            factors.append(task_weights.get(name, 1.0))
    return float(np.average(losses, weights=factors))


@pytest.mark.parametrize("own", [{}, {"topic": 2.0, "degree": 4.0}], ids=["equal", "weighted"])
def test_the_loss_is_the_mean_over_the_tasks_of_the_batch(model, data, own: dict[str, float]) -> None:
    phase = made(model, data, mix="union", batch_size=5, tasks={name: {"weight": own[name]} for name in own}).eval()
    seen = set()
    for batch in batches_of(phase):
        seen.add(len(np.unique(batch.draw["task"])))
        assert phase(batch).loss.item() == pytest.approx(mean_by_hand(phase, batch, own), rel=1e-5)
    assert len(seen) > 1, "batches with different numbers of tasks"


def test_a_batch_of_one_task_by_chance_has_its_plain_loss(model, data) -> None:
    phase = made(model, data, mix="union", batch_size=2, tasks={"tags": {"weight": 3.0}}).eval()
    batch = next(each for each in batches_of(phase) if (each.draw["task"] == 3).all())
    loss, scalars = phase(batch)
    assert loss.item() == pytest.approx(scalars["tags"].item())


def test_rows_have_their_weights(model, data) -> None:
    rows = np.linspace(0.1, 1.9, len(data.texts)).astype(np.float32)
    weighted = replace(data, tasks={name: replace(task, weights=rows) for name, task in data.tasks.items()})
    phase = made(model, data, mix="union").eval()
    batch = batches_of(phase)[0]
    plain = phase(batch).loss.item()
    heavy = made(model, weighted, mix="union").eval()
    assert heavy(batch).loss.item() == pytest.approx(mean_by_hand(heavy, batch, {}), rel=1e-5)
    assert heavy(batch).loss.item() != pytest.approx(plain, rel=1e-3)


def test_batches_of_one_step_are_averaged(model, data) -> None:
    phase = made(model, data, mix="union", accumulate=2).eval()
    draws = list(phase.batches.epoch(0))[:2]
    loss, _ = add_gradients(phase, phase, make_accelerator("cpu", "no"), draws, seed=0, step=1)
    accumulated = gradients(phase)
    losses = []
    for draw in draws:
        output = phase(Batch(draw, np.random.default_rng(0), torch.device("cpu")))
        (output.loss / 2).backward()
        losses.append(output.loss.item())
    assert loss == pytest.approx(np.mean(losses))
    separate = gradients(phase)
    assert all(torch.allclose(accumulated[name], separate[name], atol=1e-6) for name in separate)


def test_steps_and_texts_are_counted(model, data) -> None:
    phase = made(model, data, mix="union", batch_size=10, epochs=3, accumulate=2)
    assert len(phase.batches) == -(-TOTAL // 10) == 10
    assert Schedule.of(phase.options, len(phase.batches)).total == 15
    texts = 1.5 * TOTAL  # two of the four tasks are pairs
    assert phase.step_rows() == pytest.approx(texts / 5)
    assert made(model, data, mix="union", batch_size=1000).step_rows() == pytest.approx(texts)
    assert phase.notes() == [
        "multitask: each step trains on rows of all tasks, shuffled together: "
        "topic (25.0%), same (25.0%), degree (25.0%), tags (25.0%)"
    ]


def test_a_frozen_encoder_trains_only_the_heads(model, data) -> None:
    before = weights(model.encoder)
    phase = made(model, data, mix="union", freeze=True, epochs=1, lr=1e-2)
    heads = {name: weights(head) for name, head in model.heads.items()}
    for _ in train_phase(phase, make_accelerator("cpu", "no"), seed=0):
        pass
    assert same(before, weights(model.encoder))
    assert not any(same(heads[name], weights(head)) for name, head in model.heads.items())


@pytest.mark.parametrize("step", [1, 7, 14])  # 12 steps are an epoch
def test_a_resumed_run_matches_an_uninterrupted_one(tiny_folder: Path, step: int) -> None:
    def built() -> Multitask:
        model = fresh_model(tiny_folder)
        options: dict[str, Any] = {"min_steps": 16, "patience": 0, "lr": 1e-3, "evaluate_every": 4}
        return made(model, tasks_of(model), mix="union", **options)

    saved: dict[str, torch.Tensor] = {}
    facts = ""

    def rest(state: PhaseState) -> None:
        nonlocal facts
        if state.step == step:
            tensors = weights_of(phase=state.phase) | state.tensors()
            saved.update({name: value.detach().clone() for name, value in tensors.items()})
            facts = json.dumps(state.facts())

    whole, again = built(), built()
    assert len(whole.batches) == 12
    for _ in train_phase(whole, make_accelerator("cpu"), seed=0, on_step_end=rest):
        pass

    def resume(state: PhaseState) -> None:
        put_weights(saved, phase=again)
        state.load(saved, json.loads(facts))

    for _ in train_phase(again, make_accelerator("cpu"), seed=0, resume=resume):
        pass
    assert same(weights(whole), weights(again))
