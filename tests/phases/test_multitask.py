"""Several tasks of every kind over one encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from phasefit.errors import ModelError, RecipeError
from phasefit.kinds import kind_named
from phasefit.models.model import Model
from phasefit.phases import PHASES
from phasefit.phases.contract import Batch, PhaseData
from phasefit.phases.multitask.options import Options
from phasefit.phases.multitask.phase import Multitask
from several_tasks import HELD, PAIRED, TASKS, TRAIN, batches_of, made, tasks_of
from tiny import first_batch, run, same, weights

MIXES = get_args(Options.model_fields["mix"].annotation)


@pytest.fixture
def data(model: Model) -> PhaseData:
    return tasks_of(model)


def about(phase: Multitask, task: str) -> Batch:
    """The first batch with only this task."""
    place = list(TASKS).index(task)
    return next(batch for batch in batches_of(phase) if (batch.draw["task"] == place).all())


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", MIXES)
def test_every_mix_steps_with_a_finite_loss_and_gradients(model, data, mix: str) -> None:
    phase = made(model, data, mix=mix)
    assert len(batches_of(phase)) == len(phase.batches)
    for batch in batches_of(phase)[:5]:
        phase.zero_grad()
        loss, scalars = phase(batch)
        loss.backward()
        present = [list(TASKS)[place] for place in np.unique(batch.draw["task"])]
        assert torch.isfinite(loss)
        assert list(scalars) == present
        if mix != "union":
            assert len(present) == (len(TASKS) if mix == "mixed" else 1)
        for name, head in model.heads.items():
            touched = [parameter.grad is not None for parameter in head.parameters()]
            assert touched == [name in present] * len(touched), "a step leaves the heads of other tasks alone"
        assert all(p.grad is None or torch.isfinite(p.grad).all() for p in phase.parameters())


@pytest.mark.parametrize("mix", ["sequential", "mixed", "union"])
def test_a_batch_has_the_rows_of_the_tasks_that_it_says(model, data, mix: str) -> None:
    seen: dict[str, set[int]] = {name: set() for name in TASKS}
    for batch in batches_of(made(model, data, mix=mix)):
        for row, task in zip(batch.draw["rows"].tolist(), batch.draw["task"].tolist(), strict=True):
            seen[list(TASKS)[task]].add(row)
    for name, task in data.tasks.items():
        assert seen[name] == set(task.train.tolist())


@pytest.mark.parametrize("mix", ["proportional", "mixed", "union"])
def test_training_changes_encoder_and_heads(model, data, mix: str) -> None:
    before = weights(model.encoder)
    phase = made(model, data, mix=mix, epochs=1, lr=1e-3)
    heads = {name: weights(head) for name, head in model.heads.items()}
    run(phase)
    assert not same(before, weights(model.encoder))
    assert not any(same(heads[name], weights(head)) for name, head in model.heads.items())


def test_it_learns_every_task(model, data) -> None:
    none = np.empty(0, dtype=np.int64)  # nothing to validate on: the last weights stay
    alone = {name: replace(task, validation=none) for name, task in data.tasks.items()}
    phase = made(model, replace(data, tasks=alone), mix="mixed", epochs=30, lr=3e-3).eval()
    before = phase(first_batch(phase)).scalars
    run(phase)
    after = phase.eval()(first_batch(phase)).scalars
    for name in TASKS:
        assert after[name] < 0.7 * before[name], name


# --- options ----------------------------------------------------------------------------------------------------------


def test_freeze_leaves_the_encoder_unchanged(model, data) -> None:
    before = weights(model.encoder)
    phase = made(model, data, freeze=True, epochs=2, lr=1e-2, weight_decay=0.1)
    heads = {name: weights(head) for name, head in model.heads.items()}
    run(phase)
    assert same(before, weights(model.encoder))
    assert not any(same(heads[name], weights(head)) for name, head in model.heads.items())
    assert set(phase.groups()) == {"head"}


def test_frozen_vectors_are_those_of_the_encoder(model, data) -> None:
    frozen, free = made(model, data, freeze=True).eval(), made(model, data).eval()
    for task in TASKS:
        batch = about(free, task)
        assert torch.allclose(frozen.encode(batch)[task], free.encode(batch)[task], atol=1e-5)


def test_the_order_is_that_of_the_epoch(model, data) -> None:
    phase = made(model, data, mix="sequential", order=["tags", "topic", "tags"])
    tasks = [int(batch.draw["task"][0]) for batch in batches_of(phase)]
    assert tasks == [3, 3, 3, 0, 0, 0, 3, 3, 3]
    assert phase.notes() == ["multitask: each epoch trains tags, then topic, then tags"]


@pytest.mark.parametrize(
    "options", [{"mix": "sequential", "order": ["topic", "tag"]}, {"tasks": {"tag": {"weight": 2.0}}}], ids=str
)
def test_an_unknown_task_is_refused_with_the_nearest(model, data, options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=r"^multitask: there is no task 'tag'; did you mean 'tags'\?"):
        made(model, data, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": ["topic"]}, "order needs mix = 'sequential', not 'proportional'"),
        ({"freeze": True, "shared": True}, "does not train the shared layer"),
        ({"tasks": {"topic": {"weight": 0}}}, "greater than 0"),
        ({"tasks": {"topic": {"wait": 1}}}, "wait"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PHASES.get("multitask")(**options)


def test_one_table_is_not_several_tasks(model, data) -> None:
    with pytest.raises(RecipeError, match="needs several tasks; pass a task file"):
        Multitask("multitask", Options(), model, replace(data, tasks={}), 0)


def test_a_task_cannot_be_judged_by_what_falls(model, data) -> None:
    with pytest.raises(RecipeError, match="multitask, task 'degree': lower is better for 'mse'"):
        made(model, data, tasks={"degree": {"watch": "mse"}})
    with pytest.raises(
        RecipeError, match="multitask, task 'topic': cannot watch 'pearson' with labels of kind 'single'"
    ):
        made(model, data, tasks={"topic": {"watch": "pearson"}})
    with pytest.raises(RecipeError, match="multitask, task 'degree': focal applies only to classes"):
        made(model, data, tasks={"degree": {"focal": 2.0}})


def test_a_shared_layer_changes_nothing_at_first_and_learns(model, data) -> None:
    texts = list(data.texts[:4])
    before, layers = model.embed(texts), len(model.encoder.layers)
    phase = made(model, data, shared=True, mix="mixed")
    assert len(model.encoder.layers) == layers + 1
    assert model.embed(texts) == pytest.approx(before, abs=1e-6)
    assert len(phase.groups()["dense"]) == 2
    phase(first_batch(phase)).loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in phase.groups()["dense"])


# --- weights ----------------------------------------------------------------------------------------------------------


def test_the_weight_of_a_task_counts_in_full_in_its_own_steps(model, data) -> None:
    phase = made(model, data, tasks={"tags": {"weight": 3.0}}, mix="sequential").eval()
    for task, weight in (("tags", 3.0), ("topic", 1.0)):
        loss, scalars = phase(about(phase, task))
        assert loss.item() == pytest.approx(weight * scalars[task].item())


def test_weights_share_a_step_that_is_about_all(model, data) -> None:
    own = {"topic": 2.0, "same": 1.0, "degree": 4.0, "tags": 1.0}
    phase = made(model, data, tasks={name: {"weight": weight} for name, weight in own.items()}, mix="mixed").eval()
    loss, scalars = phase(first_batch(phase))
    expected = np.average([scalars[name].item() for name in own], weights=list(own.values()))
    assert loss.item() == pytest.approx(expected)


@pytest.mark.parametrize(("mix", "share"), [("proportional", 0.25), ("uniform", 0.25)])
def test_a_note_reports_how_often_each_task_is_drawn(model, data, mix: str, share: float) -> None:
    shares = ", ".join(f"{name} ({share:.1%})" for name in TASKS)
    assert made(model, data, mix=mix).notes() == [f"multitask: each step trains one task: {shares}"]


# --- validation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("freeze", [False, True])
def test_validation_is_the_mean_of_the_tasks_own_metrics(model, data, freeze: bool) -> None:
    phase = made(model, data, freeze=freeze)
    scores = phase.validate()
    expected = {}
    for name, task in data.tasks.items():
        texts = [data.texts[row] for row in task.validation]
        pairs = None if task.pairs is None else [data.texts[row] for row in task.pairs[task.validation]]
        outputs = model.predict_outputs(texts if pairs is None else list(zip(texts, pairs, strict=True)), task=name)
        kind = TASKS[name]
        labels = kind_named(kind)
        expected[f"{name} {labels.judged}"] = labels.quick(task.values[task.validation], outputs)[labels.judged]
    mean = scores.pop("mean")
    assert scores == pytest.approx(expected, abs=1e-4)
    assert mean == pytest.approx(np.mean(list(scores.values())))
    assert phase.watch == "mean"
    assert not phase.lower_is_better


def test_a_task_may_be_judged_by_another_metric(model, data) -> None:
    phase = made(model, data, tasks={"topic": {"watch": "macro_f1"}, "degree": {"watch": "spearman"}})
    assert list(phase.validate()) == ["mean", "topic macro_f1", "same accuracy", "degree spearman", "tags micro_f1"]


def test_tasks_without_validation_rows_are_left_out(model, data) -> None:
    none = np.empty(0, dtype=np.int64)
    some = {name: replace(task, validation=none) if name != "tags" else task for name, task in data.tasks.items()}
    assert list(made(model, replace(data, tasks=some)).validate()) == ["mean", "tags micro_f1"]
    nowhere = {name: replace(task, validation=none) for name, task in data.tasks.items()}
    assert made(model, replace(data, tasks=nowhere)).validate() == {}


def test_rows_are_counted_over_all_tasks(model, data) -> None:
    phase = made(model, data)
    assert phase.facts() == {"rows": float(len(TASKS) * TRAIN)}
    assert phase.evaluation_rows() == (len(TASKS) + len(PAIRED)) * HELD, "a pair is two texts to encode"


# --- the model --------------------------------------------------------------------------------------------------------


def test_the_model_answers_each_task_by_name(model, data) -> None:
    made(model, data)
    texts = list(data.texts[:3])
    pairs = list(zip(texts, data.texts[3:6], strict=True))
    assert set(model.heads) == set(model.spaces) == set(TASKS)
    assert set(model.predict(texts, task="topic")) <= {"music", "weather", "food"}
    assert set(model.predict(pairs, task="same")) <= {True, False}
    assert all(isinstance(score, float) for score in model.predict(pairs, task="degree"))
    assert all(tags <= {"music", "food"} for tags in model.predict(texts, task="tags"))
    with pytest.raises(ModelError, match="several tasks; choose one with --task: topic, same, degree, tags"):
        model.predict(texts)
    with pytest.raises(ModelError, match="no task 'tag'; did you mean 'tags'"):
        model.predict(texts, task="tag")


def test_going_on_adds_no_second_shared_layer(model, data) -> None:
    made(model, data, shared=True)
    layers = len(model.encoder.layers)
    made(model, data, shared=True)
    assert len(model.encoder.layers) == layers


def test_heads_go_on_where_they_fit(model, data) -> None:
    first = made(model, data)
    assert first.starts_untrained
    heads = dict(model.heads.items())
    again = made(model, data, freeze=True)
    assert not again.starts_untrained
    assert all(model.heads[name] is head for name, head in heads.items())
    other = made(model, data, tasks={"same": {"pair": "together"}})
    assert other.starts_untrained
    assert model.heads["same"] is not heads["same"]
    assert model.heads["topic"] is heads["topic"]


@pytest.mark.parametrize("pair", ["uv", "uv_diff_prod", "cosine", "together"])
@pytest.mark.parametrize("mix", ["mixed", "union"])
def test_pairs_are_seen_as_the_task_says(model, data, pair: str, mix: str) -> None:
    phase = made(model, data, tasks={name: {"pair": pair} for name in TASKS}, mix=mix)
    assert [model.head(name).pair for name in TASKS] == [None, pair, pair, None]
    assert torch.isfinite(phase(first_batch(phase)).loss)
    assert len(phase.validate()) == 1 + len(TASKS)
