"""Several tasks of every kind over one encoder, for tests of the multitask phase."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from phasefit.data.labels import label_space
from phasefit.models.model import Model
from phasefit.phases.contract import Batch, PhaseData
from phasefit.phases.multitask.phase import Multitask
from tiny import make_phase, make_table

TASKS = {"topic": "single", "same": "single", "degree": "score", "tags": "multi"}
PAIRED = ("same", "degree")
TRAIN, HELD = 24, 12


def tasks_of(model: Model) -> PhaseData:
    """A task of single texts, two of pairs (one a score) and one of several labels, each with its own rows."""
    each = TRAIN + HELD
    texts, names = make_table(len(TASKS) * each)
    tokens = model.encoder.tokenise(texts)
    everything = np.arange(len(texts))
    tasks = {}
    for place, (name, kind) in enumerate(TASKS.items()):
        rows = everything[place * each : (place + 1) * each]
        second = np.roll(rows, -1)
        labels: dict[str, Any] = {
            "topic": lambda rows, _: [names[row] for row in rows],
            "same": lambda rows, second: [names[a] == names[b] for a, b in zip(rows, second, strict=True)],
            "degree": lambda rows, second: [
                float((names[a] == names[b]) + 0.1 * len(texts[a].split())) for a, b in zip(rows, second, strict=True)
            ],
            "tags": lambda rows, _: [frozenset({names[row]} & {"music", "food"}) for row in rows],
        }
        own = labels[name](rows, second)
        space = label_space(own)
        assert space.kind == kind
        codes, values = np.full(len(texts), -1), space.none(len(texts))
        codes[rows], values[rows] = space.encode(own), space.values(own)
        others = None
        if name in PAIRED:
            others = np.full((len(texts), 1), -1)
            others[rows, 0] = second
        none = np.empty(0, dtype=np.int64)
        tasks[name] = PhaseData(
            *(texts, tokens, codes, space, rows[:TRAIN], rows[TRAIN:], none),
            others=others,
            values=values,
            of_pairs=name in PAIRED,
        )
    first = tasks["topic"]
    return replace(first, codes=np.full(len(texts), -1), values=None, tasks=tasks)


def made(model: Model, data: PhaseData, **options: Any) -> Multitask:
    """The phase with small batches."""
    phase = make_phase("multitask", model, data, **{"batch_size": 8, **options})
    assert isinstance(phase, Multitask)
    return phase


def batches_of(phase: Multitask, epoch: int = 0) -> list[Batch]:
    """The batches of an epoch."""
    random = np.random.default_rng(0)
    return [Batch(draw, random, torch.device("cpu")) for draw in phase.batches.epoch(epoch)]
