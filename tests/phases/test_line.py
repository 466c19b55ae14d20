"""The head that maps cosines to scores is a least-squares line, before and after training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from phasefit.events import Scored
from phasefit.models.heads import Head
from phasefit.phases.contract import PhaseData
from phasefit.phases.finetune.line import has_line
from tiny import data_for, fresh_model, make_data, make_phase, make_table, run, same, weights


@pytest.fixture
def scored(model) -> PhaseData:
    """Pairs whose scores, from 0 to 5, follow the cosine of the untrained encoder."""
    data = data_for("cosine", make_data(model.encoder, *make_table(120), validation=30))
    assert data.pairs is not None
    phase = make_phase("cosine", model, data)
    left, right = phase.rows.encode(model.encoder, np.arange(len(data.pairs))).chunk(2, dim=1)
    cosines = torch.cosine_similarity(left, right).double().numpy()
    ranks = cosines.argsort().argsort() / len(cosines)
    return replace(data, values=5 * ranks + np.random.default_rng(0).normal(0, 0.3, len(ranks)))


def line_of(head: Head) -> list[float]:
    return [head.output.weight.item(), head.output.bias.item()]


def least_squares(phase, data: PhaseData) -> list[float]:
    inputs = phase.head.cosines(phase.rows.encode(phase.encoder, data.train))[:, 0].double().numpy()
    return np.polyfit(inputs, phase.head_loss.values(data.values[data.train]).astype(float), 1).tolist()


def test_it_starts_as_the_least_squares_line_and_ends_as_one(model, scored) -> None:
    phase = make_phase("finetune", model, scored, pair="cosine", max_steps=4, evaluate_every=2, lr=1e-4)
    assert not phase.starts_untrained
    first = least_squares(phase, scored)
    events = run(phase)
    evaluations = [event for event in events if isinstance(event, Scored)]
    assert evaluations[0].step == 0
    assert evaluations[0].scores["pearson"] > 0.8
    assert line_of(phase.head) == pytest.approx(least_squares(phase, scored), rel=1e-4)
    assert first[0] > 0
    outputs = model.outputs(phase.rows.encode(model.encoder, scored.validation))[:, 0]
    true = scored.values[scored.validation]
    assert 1 - np.square(outputs - true).sum() / np.square(true - true.mean()).sum() > 0.5


def test_training_that_does_harm_leaves_the_untrained_encoder_with_its_line(model, scored) -> None:
    phase = make_phase("finetune", model, scored, pair="cosine", max_steps=3, evaluate_every=1, lr=0.5, warmup=0)
    before, line = weights(model.encoder), least_squares(phase, scored)
    assert run(phase)[-1].best_step == 0
    assert same(before, weights(model.encoder))
    assert line_of(phase.head) == pytest.approx(line, rel=1e-4)


def test_refitting_without_steps_still_fits_the_line(model, scored) -> None:
    phase = make_phase("finetune", model, scored, pair="cosine", freeze=True)
    run(phase, fixed_steps=0)
    assert line_of(phase.head) == pytest.approx(least_squares(phase, scored), rel=1e-4)


def test_every_task_with_cosines_and_scores_has_its_line(model, tiny_folder, scored) -> None:
    tasks = {"sts": scored, "topic": make_data(model.encoder, *make_table(120), validation=30)}
    data = replace(scored, tasks={name: replace(own, texts=scored.texts) for name, own in tasks.items()})
    options = {"sts": {"pair": "cosine"}}
    phase = make_phase("multitask", model, data, tasks=options, max_steps=2, lr=1e-4)
    assert phase.starts_untrained, "the head of the other task is random"
    run(phase)
    assert list(phase.solutions()) == ["sts"]
    line = phase.solutions()["sts"]
    assert line_of(model.heads["sts"]) == pytest.approx([line.weight.item(), line.bias.item()], rel=1e-4)
    assert line_of(model.heads["sts"])[0] > 0
    alone = make_phase("multitask", fresh_model(tiny_folder), replace(data, tasks={"sts": scored}), tasks=options)
    assert not alone.starts_untrained


def test_other_heads_and_labels_have_none(model, scored) -> None:
    classes = replace(scored, values=None, space=make_data(model.encoder, *make_table(120)).space)
    assert not has_line(Head("linear", 8, 3, pair="cosine"), classes)
    phase = make_phase("finetune", model, scored, pair="uv")
    assert phase.solutions() == {}
    assert phase.starts_untrained


def test_equal_cosines_give_the_mean(model, scored) -> None:
    alike = replace(scored, others=np.arange(len(scored.others))[:, None])
    phase = make_phase("finetune", model, alike, pair="cosine")
    (line,) = phase.solutions().values()
    slope, intercept = line.weight.item(), line.bias.item()
    targets = phase.head_loss.values(alike.values[alike.train])
    assert slope * phase.head.cosines(torch.ones(1, 64)).item() + intercept == pytest.approx(targets.mean(), abs=1e-2)
