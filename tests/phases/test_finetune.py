from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from phasefit.data.labels import label_space
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.model import TASK
from phasefit.phases import PHASES
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, same, weights


def test_a_frozen_encoder_is_left_alone_bit_for_bit(model, data) -> None:
    before = weights(model.encoder)
    phase = make_phase("finetune", model, data, freeze=True, epochs=4, lr=1e-2, weight_decay=0.1)
    head = weights(phase.head)
    run(phase)
    assert same(before, weights(model.encoder))
    assert not same(head, weights(phase.head))
    assert set(phase.groups()) == {"head"}


def test_it_learns(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    texts, labels = make_table(90)
    run(make_phase("finetune", model, make_data(model.encoder, texts, labels), epochs=15, lr=3e-3, batch_size=16))
    assert np.mean([guess == label for guess, label in zip(model.predict(texts), labels, strict=True)]) > 0.9


def test_probabilities_are_those_of_the_classes(model, data) -> None:
    make_phase("finetune", model, data)
    table = model.predict_proba(list(data.texts[:5]))
    assert table.shape == (5, 3)
    assert table.sum(axis=1) == pytest.approx(np.ones(5))
    assert model.predict(list(data.texts[:5])) == [model.space.classes[code] for code in table.argmax(axis=1)]
    assert model.predict([]) == []


def test_class_weights_make_rare_classes_count(model) -> None:
    data = make_data(model.encoder, *make_table(sizes=[30, 10, 5]), validation=0)
    phase = make_phase("finetune", model, data, class_weights="balanced")
    counts = np.bincount(data.codes)
    assert (phase.head_loss.weights.numpy() * counts) == pytest.approx(np.full(3, 15.0))
    assert make_phase("finetune", model, data).head_loss.weights is None


def test_going_on_keeps_what_the_head_says_about_old_classes(model, data) -> None:
    run(make_phase("finetune", model, data, epochs=2, lr=1e-3))
    model.eval()
    texts = list(data.texts[:6])
    old = model.head()(torch.from_numpy(model.embed(texts))).detach()
    space = data.space.extend(["zoo", "animals"])
    assert list(space.classes[:3]) == list(data.space.classes)
    phase = make_phase("finetune", model, replace(data, space=space), name="finetune-2")
    model.eval()
    new = model.head()(torch.from_numpy(model.embed(texts))).detach()
    assert torch.allclose(new[:, :3], old, atol=1e-6)
    assert new.shape == (6, 5)
    assert not phase.starts_untrained
    assert model.spaces[TASK] is space


def test_going_on_with_the_same_classes_keeps_the_head_itself(model, data) -> None:
    first = make_phase("finetune", model, data)
    assert first.starts_untrained
    again = make_phase("finetune", model, data)
    assert again.head is first.head


def test_another_kind_of_head_starts_from_scratch(model, data) -> None:
    first = make_phase("finetune", model, data, head="mlp")
    again = make_phase("finetune", model, data, head="linear")
    assert again.head is not first.head
    assert again.starts_untrained
    assert model.head() is again.head


@pytest.mark.parametrize("watch", ["macro_f1", "accuracy", "log_loss"])
def test_any_metric_can_be_watched(model, data, watch) -> None:
    phase = make_phase("finetune", model, data, watch=watch)
    assert phase.watch in phase.validate()
    assert phase.lower_is_better == (watch == "log_loss")


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'macro_f1'"):
        PHASES.get("finetune")(watch="macro_f")


def test_label_smoothing_lifts_the_lowest_loss(model, data) -> None:
    plain, smooth = (make_phase("finetune", model, data, label_smoothing=value).eval() for value in (0.0, 0.3))
    with torch.no_grad():
        plain.head.output.bias.copy_(torch.tensor([50.0, 0.0, 0.0]))
    rows = data.train[data.codes[data.train] == 0]
    batch = first_batch(plain)
    batch = type(batch)({"rows": rows}, batch.generator, batch.device)
    assert plain(batch).loss.item() < 1e-3 < smooth(batch).loss.item()


def test_tree_classes_are_whole_paths(model, tree_data) -> None:
    make_phase("finetune", model, tree_data)
    assert model.space == label_space(
        [("leisure", "music"), ("leisure", "food"), ("world", "weather"), ("world", "travel")]
    )
    assert all(isinstance(label, tuple) for label in model.predict(list(tree_data.texts[:3])))


@pytest.mark.parametrize(
    "idle", [{"layer_decay": 0.9}, {"encoder_dropout": 0.0}, {"freeze_words": True}, {"frozen_layers": 1}]
)
def test_options_that_a_frozen_encoder_has_no_use_for_are_refused(idle: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=f"'{next(iter(idle))}' has no effect"):
        PHASES.get("finetune")(freeze=True, **idle)


@pytest.mark.parametrize(("head", "ridge"), [("linear", 4.0), ("cosine", 0.5)])
def test_a_frozen_encoder_with_a_ridge_is_logistic_regression(model, head, ridge) -> None:
    data = make_data(model.encoder, *make_table(60), validation=0)
    steps = {"epochs": 1500, "batch_size": 60, "lr": 0.03, "warmup": 0.0, "weight_decay": 0.0, "dropout": 0.0}
    run(make_phase("finetune", model, data, freeze=True, head=head, ridge=ridge, **steps))
    vectors = encode_rows(model.encoder, data.tokens).numpy()
    seen = normalize(vectors) if head == "cosine" else vectors
    theirs = LogisticRegression(C=1 / ridge, max_iter=5000, tol=1e-8).fit(seen, data.codes).predict_proba(seen)
    assert model.outputs(torch.from_numpy(vectors)) == pytest.approx(theirs, abs=5e-3)
    assert np.ptp(theirs) > 0.1  # it separates the classes
