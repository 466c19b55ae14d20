"""Batches in chunks: the gradient is that of one big batch, whatever the phase, with and without dropout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from phasefit.models.seeded import seeded
from phasefit.phases.contract import Batch, Phase
from phasefit.seeds import derive, generator
from phasefit.training.device import make_accelerator
from phasefit.training.gradients import add_gradients
from tiny import fresh_model, make_data, make_phase, make_table, run

ROWS = 24
CHUNKED: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        name: ("contrast", {"objective": name, "balance": {"mode": "none"}})
        for name in ("cosine", "contrastive", "triplet", "supcon", "proxy-nca", "soft-triple")
    },
    "auxiliary supcon": ("finetune", {"objective": "supcon"}),
    "auxiliary label-aware": ("finetune", {"objective": "label-aware", "views": ["dropout"]}),
    "auxiliary on tokens": ("finetune", {"objective": {"name": "soft-triple", "centres": 3}, "on": "tokens"}),
    "simcse": ("simcse", {}),
    "mirror": ("mirror", {"dropout": 0.0, "span": 0}),  # spans are drawn by chunk
}
every_way = pytest.mark.parametrize("way", CHUNKED)


def built(folder: Path, way: str, *, dropout: bool, **more: Any) -> Phase:
    kind, options = CHUNKED[way]
    model = fresh_model(folder)
    data = make_data(model.encoder, *make_table(60), validation=15)
    phase = make_phase(kind, model, data, **{"batch_size": ROWS, **options, **more})
    phase.train()
    for part in phase.modules() if not dropout else ():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return phase


def gradients(phase: Phase) -> dict[str, Tensor]:
    accelerator = make_accelerator("cpu", "no")
    draw = next(iter(phase.batches.epoch(0)))
    phase.before_step(1)
    add_gradients(phase, phase, accelerator, [draw], seed=0, step=1)
    return {name: value.grad.clone() for name, value in phase.named_parameters() if value.grad is not None}


@every_way
@pytest.mark.parametrize("chunk", [5, 100])
def test_chunks_give_the_gradient_of_the_whole_batch(tiny_folder: Path, way: str, chunk: int) -> None:
    whole = gradients(built(tiny_folder, way, dropout=False))
    parts = gradients(built(tiny_folder, way, dropout=False, chunk=chunk))
    assert whole.keys() == parts.keys()
    assert any(value.abs().max() > 1e-4 for value in whole.values())
    for name in whole:
        torch.testing.assert_close(parts[name], whole[name], atol=1e-5, rtol=1e-4, msg=name)


@every_way
def test_with_dropout_the_second_pass_replays_the_first(tiny_folder: Path, way: str) -> None:
    chunked = gradients(built(tiny_folder, way, dropout=True, chunk=7))
    phase = built(tiny_folder, way, dropout=True)
    draw = next(iter(phase.batches.epoch(0)))
    seed, cpu = derive(0, phase.name, 1, 0, 0), torch.device("cpu")
    parts = []
    for start in range(0, len(draw["rows"]), 7):  # the same dropout, with all chunks in memory
        with seeded(chunk := derive(seed, "chunk", start)):
            some = {key: rows[start : start + 7] for key, rows in draw.items()}
            parts.append(phase.encode(Batch(some, generator(chunk, "noise"), cpu)))
    with seeded(seed):
        loss = phase.loss(phase.join(parts), Batch(draw, generator(seed, "noise"), cpu)).loss
    loss.backward()
    expected = {name: value.grad for name, value in phase.named_parameters() if value.grad is not None}
    assert chunked.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(chunked[name], value, atol=1e-6, rtol=1e-4, msg=name)


def test_a_phase_trains_in_chunks_of_uneven_size(tiny_folder: Path) -> None:
    phase = built(tiny_folder, "supcon", dropout=True, chunk=5, epochs=6, lr=3e-3, accumulate=2)
    losses = [event.loss for event in run(phase) if hasattr(event, "loss")]
    assert np.mean(losses[-2:]) < np.mean(losses[:2])
