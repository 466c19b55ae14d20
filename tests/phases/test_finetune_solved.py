"""A finetune phase whose head is solved: no steps, every kind of label, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from scipy.special import softmax

from phasefit.data.labels import label_space
from phasefit.errors import RecipeError
from phasefit.events import Note, PhaseEnded, PhaseStarted, Scored, StepDone
from phasefit.kinds import kind_named
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.heads import SCALE
from phasefit.models.linear import LinearRows, fit_linear
from phasefit.models.model import Model
from phasefit.phases.class_texts import ClassTexts
from phasefit.phases.contract import PhaseData
from phasefit.phases.finetune.options import Options
from phasefit.phases.pseudo_labels import most_confident
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from tiny import data_for, make_data, make_phase, make_table, run, same, tree, weights

SOLVED: dict[str, Any] = {"freeze": True, "solve": True, "head": "cosine", "ridge": "auto"}


def rows_of(kind: str, model: Model) -> PhaseData:
    texts, labels = make_table(60)
    if kind == "tree":
        return make_data(model.encoder, texts, tree(labels))
    data = make_data(model.encoder, texts, labels)
    if kind == "score":
        scores = data.codes + np.linspace(0, 0.5, len(texts))
        return replace(data, space=label_space(scores.tolist()), values=scores)
    if kind == "multi":
        sets = [frozenset({label, "text"} - {"music"}) for label in labels]
        space = kind_named("multi").build(sets)
        return replace(data, space=space, values=space.values(sets))
    return data_for("cosine", data) if kind == "pairs of scores" else data


@pytest.mark.parametrize("kind", ["single", "tree", "multi", "score", "pairs of scores"])
def test_every_kind_is_solved_without_steps(model: Model, kind: str) -> None:
    data = rows_of(kind, model)
    before = weights(model.encoder)
    phase = make_phase("finetune", model, data, **SOLVED | {"head": "linear"})
    events = run(phase)
    started, ended = events[0], events[-1]
    assert isinstance(started, PhaseStarted)
    assert started.steps == 0
    assert not [event for event in events if isinstance(event, StepDone)]
    assert isinstance(ended, PhaseEnded)
    assert (ended.steps, ended.best_step, ended.planned_steps, ended.reverted) == (0, 0, 0, False)
    assert ended.best[phase.watch] > 0.3
    assert 0.01 <= ended.choices["ridge"] <= 1 / 0.3 + 1e-9
    assert len(ended.choices["ridge_losses"]) == 6
    assert sum(isinstance(event, Scored) for event in events) == 1
    (note,) = (event.text for event in events if isinstance(event, Note))
    assert note == f"finetune: solved the head; cross-validation chose ridge {ended.choices['ridge']:.3g}"
    assert same(before, weights(model.encoder))


def test_it_is_where_training_with_the_same_penalty_ends(model: Model, data: PhaseData) -> None:
    solved = make_phase("finetune", model, data, **SOLVED | {"ridge": 0.3})
    run(solved)
    trained = make_phase(
        "finetune",
        model,
        data,
        name="trained",
        **{"freeze": True, "head": "cosine", "ridge": 0.3, "dropout": 0.0, "weight_decay": 0.0, "patience": 0},
        **{"max_steps": 1500, "min_steps": 1500, "lr": 0.05, "batch_size": 42, "evaluate_every": 1500, "clip": 0.0},
    )
    run(trained)
    vectors = trained._vectors(data.train)
    with torch.no_grad():
        one, other = (phase.head.eval()(vectors).softmax(dim=1) for phase in (solved, trained))
    assert torch.allclose(one, other, atol=0.02)


def test_refitting_uses_the_chosen_penalty(model: Model, data: PhaseData) -> None:
    phase = make_phase("finetune", model, data, **SOLVED)
    events = list(train_phase(phase, make_accelerator("cpu"), seed=0, fixed_steps=0, repeat={"ridge": 1 / 3}))
    assert isinstance(events[-1], PhaseEnded)
    assert events[-1].choices == {"ridge": pytest.approx(1 / 3)}
    assert not [event for event in events if isinstance(event, Note | Scored)]


def test_balanced_classes_and_row_weights_count(model: Model, data: PhaseData) -> None:
    heads = []
    row_weights = np.where(data.codes == 0, 3.0, 0.5)
    for own, more in ((data, {}), (data, {"class_weights": "balanced"}), (replace(data, weights=row_weights), {})):
        uneven = replace(own, train=data.train[10:])
        phase = make_phase("finetune", model, uneven, **SOLVED | {"ridge": 1.0} | more)
        run(phase)
        heads.append(weights(phase.head))
    assert not same(heads[0], heads[2])
    assert len({tuple(head["layers.1.bias"].tolist()) for head in heads}) >= 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"freeze": False}, "add freeze = true"),
        ({"head": "mlp"}, "head = 'mlp' cannot be solved"),
        ({"pair": "together"}, "pair = 'together' has a layer for each order"),
        ({"ridge": 0.0}, "needs a penalty"),
        ({"solve": False}, "ridge = 'auto' needs solve = true"),
        ({"focal": 2.0}, "'focal' has no effect"),
        ({"label_smoothing": 0.1}, "'label_smoothing' has no effect"),
        ({"average": 0.5}, "'average' has no effect"),
        ({"soup": 3}, "'soup' has no effect"),
        ({"blend": 0.5}, "'blend' has no effect"),
    ],
)
def test_what_cannot_be_solved_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Options(**SOLVED | options)


# --- a head that starts from class texts ------------------------------------------------------------------------------

NAMED: dict[str, Any] = SOLVED | {"ridge": 0.3, "class_texts": "names"}


def logits_of(phase: Any, data: PhaseData) -> torch.Tensor:
    run(phase)
    with torch.no_grad():
        return phase.head.eval()(phase._vectors(data.train))


def cosines_with_names(model: Model, data: PhaseData) -> np.ndarray:
    own, names = model.embed([data.texts[row] for row in data.train]), model.embed(data.space.names)
    return np.asarray(own @ names.T)


def test_a_large_penalty_leaves_the_cosines_with_the_names(model: Model, data: PhaseData) -> None:
    logits = logits_of(make_phase("finetune", model, data, **NAMED | {"ridge": 1e6}), data).numpy()
    expected = SCALE * cosines_with_names(model, data)
    centred = [one - one.mean(axis=1, keepdims=True) for one in (logits, expected)]
    free = centred[0] - centred[1]  # the bias is not penalised
    assert np.allclose(free, free.mean(axis=0), atol=1e-3)


def test_without_a_pull_it_is_logistic_regression(model: Model, data: PhaseData) -> None:
    features = cosines_with_names(model, data).astype(np.float64)
    weights = np.linspace(0.5, 1.5, len(features))
    rows = LinearRows(features, data.space, data.codes[data.train], weights)
    plain = fit_linear(rows, C=2.0, seed=0)
    pulled = fit_linear(replace(rows, prior=np.zeros((features.shape[1], len(data.space)))), C=2.0, seed=0)
    one, other = (softmax(features @ linear.weights + linear.bias, axis=1) for linear in (plain, pulled))
    assert np.allclose(one, other, atol=2e-3)


def test_a_class_without_a_text_starts_from_the_mean_of_the_others(model: Model) -> None:
    texts = ClassTexts(["soup", "rain"], np.array([0, 2]), ["music"])
    vectors = texts.vectors(model.encoder, 3)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    middle = vectors[0] + vectors[2]
    assert np.allclose(vectors[1], middle / np.linalg.norm(middle), atol=1e-6)


def test_class_texts_of_a_tree_are_its_paths(model: Model) -> None:
    data = rows_of("tree", model)
    assert len(logits_of(make_phase("finetune", model, data, **NAMED), data)) == len(data.train)


@pytest.mark.parametrize("kind", ["multi", "score"])
def test_class_texts_need_one_class_per_text(kind: str, model: Model) -> None:
    with pytest.raises(RecipeError, match=f"class_texts in a head need one class per text.*'{kind}'"):
        Options(**NAMED).check_kinds("finetune", {"": kind})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"solve": False}, "class_texts = 'names' needs solve = true"),
        ({"head": "linear"}, "class_texts are compared by their cosines; use head = 'cosine'"),
    ],
)
def test_class_texts_need_a_solved_cosine_head(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Options(**NAMED | options)


def test_pairs_have_no_class_texts(model: Model, data: PhaseData) -> None:
    phase = make_phase("finetune", model, data_for("cosine", data), **NAMED)
    with pytest.raises(RecipeError, match="class_texts need single texts"):
        run(phase)


# --- a head that learns from pseudo-labels ----------------------------------------------------------------------------

PSEUDO = SOLVED | {"ridge": 1.0, "pseudo_labels": 0.5}


@pytest.mark.parametrize("kind", ["single", "tree"])
def test_the_head_learns_from_the_most_confident_texts(model: Model, kind: str) -> None:
    texts, labels = make_table(60)
    given = tree(labels) if kind == "tree" else labels
    data = make_data(model.encoder, texts, given, unlabelled=make_table(40, seed=5)[0])
    alone = PSEUDO | {"pseudo_labels": 0.0}
    before = solved_layer(model, data, alone)
    probabilities = model.outputs(encode_rows(model.encoder, data.tokens, data.unlabelled))
    chosen, codes = most_confident(probabilities, 0.5)
    assert 0 < len(chosen) <= 21
    values, row_weights = data.values.copy(), np.ones(len(data.codes))
    values[data.unlabelled[chosen]] = codes
    row_weights[data.unlabelled[chosen]] = probabilities.max(axis=1)[chosen]
    rows = np.concatenate([data.train, data.unlabelled[chosen]])
    expected = solved_layer(model, replace(data, train=rows, values=values, weights=row_weights), alone)
    own = solved_layer(model, data, PSEUDO)
    torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)
    assert (own - before).abs().max() > 0.01


def solved_layer(model: Model, data: PhaseData, options: dict[str, Any]) -> torch.Tensor:
    phase = make_phase("finetune", model, data, **options)
    run(phase)
    return phase.head.output.weight.detach().clone()


def test_pseudo_labels_without_texts_are_noted(model: Model, data: PhaseData) -> None:
    phase = make_phase("finetune", model, replace(data, unlabelled=data.unlabelled[:0]), **PSEUDO)
    assert phase.notes() == ["finetune: there are no unlabelled texts, so pseudo_labels has no effect"]
    run(phase)


@pytest.mark.parametrize("kind", ["multi", "score"])
def test_pseudo_labels_need_one_class_per_text(kind: str) -> None:
    with pytest.raises(RecipeError, match=f"pseudo_labels need one class per text.*'{kind}'"):
        Options(**PSEUDO).check_kinds("finetune", {"": kind})


def test_pseudo_labels_need_a_solved_head_and_single_texts() -> None:
    with pytest.raises(ValidationError, match=r"pseudo_labels = 0\.5 needs solve = true"):
        Options(pseudo_labels=0.5)
    assert not Options(**PSEUDO).takes_pairs
    assert Options(**PSEUDO).uses_unlabelled
