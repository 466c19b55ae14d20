"""What simcse, mirror and mnr share: batches of at least two rows, sides, noise that ends with the encoding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.data.batches import ShuffledBatches
from phasefit.errors import ModelError, RecipeError
from phasefit.models.encoder.dropout import dropout_rates
from phasefit.phases.in_batch_negatives.phase import AtLeastTwoRows, InBatchNegatives
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, weights

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "simcse": ("simcse", {}),
    "supervised": ("simcse", {"supervised": True}),
    "mirror": ("mirror", {"min_characters": 10}),
    "mnr": ("mnr", {}),
}
every_kind = pytest.mark.parametrize("way", KINDS)


def made(way: str, model, data, **options) -> InBatchNegatives:
    kind, own = KINDS[way]
    phase = make_phase(kind, model, data, **{"batch_size": 8, **own, **options})
    assert isinstance(phase, InBatchNegatives)
    return phase


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 9, 17])
def test_no_row_is_alone_and_all_rows_come(count: int) -> None:
    rows = np.arange(count) * 3 + 1
    batches = AtLeastTwoRows(ShuffledBatches(rows, rows, batch_size=4, seed=0), rows, seed=0)
    for epoch in range(6):
        drawn = [draw["rows"] for draw in batches.epoch(epoch)]
        assert len(drawn) == len(batches)
        assert all(len(set(part.tolist())) == len(part) >= 2 for part in drawn)
        assert set(np.concatenate(drawn).tolist()) == set(rows.tolist())
        again = [draw["rows"].tolist() for draw in batches.epoch(epoch)]
        assert again == [part.tolist() for part in drawn]


def test_one_row_is_refused() -> None:
    one = np.array([5])
    with pytest.raises(ValueError, match="two"):
        AtLeastTwoRows(ShuffledBatches(one, one, batch_size=4, seed=0), one, seed=0)


# --- all kinds --------------------------------------------------------------------------------------------------------


@every_kind
def test_a_few_steps_lower_the_loss_and_leave_the_encoder_as_it_was_built(tiny_folder, way: str) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(60))
    names, rates = set(weights(model.encoder)), dropout_rates(model.encoder)
    phase = made(way, model, data, watch="loss", lr=1e-3, min_steps=12, batch_size=14, evaluate_every=12)
    ended = run(phase)[-1]
    assert ended.steps == ended.best_step == 12, "the loss on held-out rows fell"
    assert set(weights(model.encoder)) == names
    assert dropout_rates(model.encoder) == rates
    hooks = [part for part in model.encoder.modules() if part._forward_hooks or part._forward_pre_hooks]
    assert not hooks


@every_kind
def test_labels_are_not_needed(model, data, way: str) -> None:
    bare = replace(data, codes=np.full_like(data.codes, -1))
    phase = made(way, model, bare)
    assert phase.options.needs in ("texts", "pairs")
    assert not phase.probe
    assert phase.watch == "loss"
    assert phase.lower_is_better
    assert set(phase.validate()) == {"loss"}


@every_kind
def test_vectors_come_one_for_each_row(model, data, way: str) -> None:
    phase = made(way, model, data).train()
    batch = first_batch(phase)
    encoded = phase.encode(batch)
    assert set(encoded) == set(phase.sides.names)
    assert {part.shape for part in encoded.values()} == {(len(batch.draw["rows"]), model.encoder.dimension)}
    assert phase.gathers


@every_kind
def test_a_single_row_is_refused(model, data, way: str) -> None:
    few = replace(data, train=data.train[:1], unlabelled=data.unlabelled[:0])
    with pytest.raises(RecipeError, match="at least two training rows"):
        made(way, model, few)


@every_kind
def test_an_objective_without_views_is_refused(model, data, way: str) -> None:
    with pytest.raises(RecipeError, match="'supcon' does not accept views"):
        made(way, model, data, objective="supcon")
    with pytest.raises(RecipeError, match="'supcon' does not accept views"):
        made(way, model, data).options.model_copy(update={"objective": "supcon"}).check("here")


def test_texts_are_the_labelled_and_the_unlabelled_pairs_the_labelled(model, data) -> None:
    for way in KINDS:
        phase = made(way, model, data)
        seen = np.concatenate([draw["rows"] for draw in phase.batches.epoch(0)])
        wanted = [*data.train, *data.unlabelled] if phase.options.needs == "texts" else data.train
        assert sorted(set(seen.tolist())) == sorted(wanted)
        assert phase.facts()["rows"] == len(wanted)


# --- noise that ends with the encoding --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "options", "inside"),
    [
        ("simcse", {"dropout": 0.3}, {0.3}),
        ("simcse", {}, {0.1}),
        ("mirror", {"dropout": 0.0}, {0.0}),
        ("mirror", {"drop_head": 0.5, "dropout": 0.1}, {0.0}),
    ],
)
def test_other_rates_last_as_long_as_the_encoding_even_if_it_fails(model, data, way, options, inside) -> None:
    phase = made(way, model, data, **options).train()
    seen: list[set[float]] = []
    handle = model.encoder.register_forward_hook(lambda *_: seen.append(set(dropout_rates(model.encoder))))
    phase(first_batch(phase))
    handle.remove()
    assert seen == [inside, inside]
    assert set(dropout_rates(model.encoder)) == {0.1}

    def fails(*_: object) -> None:
        raise RuntimeError("out of memory")

    handle = model.encoder.register_forward_hook(fails)
    with pytest.raises(RuntimeError, match="out of memory"):
        phase(first_batch(phase))
    handle.remove()
    assert set(dropout_rates(model.encoder)) == {0.1}
    assert not any(part._forward_pre_hooks for part in model.encoder.modules())


def test_dropping_heads_of_an_unknown_family_is_refused_at_once(model, data) -> None:
    model.encoder.transformer.config.model_type = "mamba"
    with pytest.raises(ModelError, match="mamba"):
        made("mirror", model, data, drop_head=0.2)
    made("mirror", model, data)


@pytest.mark.parametrize(
    ("way", "options", "noted"),
    [
        ("simcse", {"dropout": 0.0}, True),
        ("simcse", {"dropout": 0.0, "views": ["delete-words"]}, False),
        ("simcse", {"dropout": 0.0, "views": ["dropout"]}, True),
        ("simcse", {}, False),
        ("mirror", {"dropout": 0.0, "span": 0}, True),
        ("mirror", {"drop_head": 0.2, "span": 0}, False),
        ("mirror", {"dropout": 0.0}, False),
    ],
)
def test_views_that_cannot_differ_are_noted(model, data, way, options, noted: bool) -> None:
    assert bool(made(way, model, data, **options).notes()) == noted


# --- partners ---------------------------------------------------------------------------------------------------------


def test_pairs_need_a_table_of_pairs(model, data) -> None:
    for way in ("supervised", "mnr"):
        with pytest.raises(RecipeError, match=f"^{KINDS[way][0]}: needs a table with two text columns"):
            made(way, model, replace(data, others=None))


def test_rows_without_a_second_text_are_skipped_and_counted(model, data) -> None:
    others = data.others.copy()
    others[data.train[:5], 0] = -1
    others[data.train[5:7], 1] = -1
    others[data.validation[0], 0] = -1
    phase = made("mnr", model, replace(data, others=others))
    assert phase.notes() == ["mnr: 7 training rows have no second text or hard negative and are skipped"]
    assert sorted(phase.sides.rows.tolist()) == sorted(data.train[7:].tolist())
    assert data.validation[0] not in phase.sides.validation
    pairs = made("mnr", model, replace(data, others=others), hard_negatives=False)
    assert pairs.notes() == ["mnr: 5 training rows have no second text and are skipped"]
    assert pairs.sides.names == ("anchor", "positive")


@pytest.mark.parametrize("others", [lambda others: others[:, :1], lambda others: np.where([True, False], others, -1)])
def test_a_table_of_pairs_has_no_hard_negatives(model, data, others) -> None:
    phase = made("mnr", model, replace(data, others=others(data.others)))
    assert phase.sides.names == ("anchor", "positive")
    assert not phase.notes()
    assert torch.isfinite(phase(first_batch(phase)).loss)


def test_sides_are_the_texts_of_a_row(model, data) -> None:
    phase = made("mnr", model, data).eval()
    batch = first_batch(phase)
    encoded = phase.encode(batch)
    rows = batch.draw["rows"]
    for side, wanted in zip(("anchor", "positive", "negative"), (rows, *data.others[rows].T), strict=True):
        alone = model.encoder(data.tokens.batch(wanted))["sentence_embedding"]
        assert torch.allclose(encoded[side], alone, atol=1e-6)
    expected = phase.objective.views(*(encoded[side] for side in ("anchor", "positive", "negative")))
    assert phase.loss(encoded, batch).loss == expected


def test_an_objective_without_hard_negatives_is_refused_where_there_are_some(model, data) -> None:
    with pytest.raises(
        RecipeError, match=r"hard negatives, which objective 'nt-xent' does not support.*hard_negatives = false"
    ):
        made("mnr", model, data, objective="nt-xent")
    assert made("mnr", model, data, objective="nt-xent", hard_negatives=False).validate()["loss"] > 0


def test_validation_of_pairs_is_without_noise_and_of_views_with_it(model, data) -> None:
    modes: list[bool] = []
    for way in ("mnr", "simcse"):
        phase = made(way, model, replace(data, codes=np.full_like(data.codes, -1)))
        handle = model.encoder.register_forward_pre_hook(lambda part, _: modes.append(part.training))
        phase.validate()
        handle.remove()
    assert modes == [False] * 3 + [True] * 2


def test_noise_differs_between_steps_but_not_between_evaluations(model, data) -> None:
    phase = made("mirror", model, data, dropout=0.0).eval()
    assert phase(first_batch(phase, seed=0)).loss.item() != phase(first_batch(phase, seed=1)).loss.item()
    assert phase.validate() == phase.validate()
