"""The contract of a phase, checked for every registered kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from phasefit.errors import RecipeError
from phasefit.models.tokens.rows import Rows
from phasefit.phases import PHASES
from phasefit.phases.contrast.grown import GrownRows
from tiny import FAMILIES, first_batch, fresh_model, make_data, make_phase, make_table, tree, weights

every_phase = pytest.mark.parametrize("kind", PHASES)

# Options that change what a step is, in addition to the defaults of every kind.
VARIANTS = {
    "denoise": [{}, {"noise": "mask"}, {"dense": "paper"}, {"dense": "identity", "decoder": "tied"}],
    "contrast": [
        {},
        {"pairs": "explicit"},
        {"dense": "paper", "objective": "supcon"},
        {"objective": {"name": "cosine", "even": True}},
        {"balance": {"mode": "paper"}},
        {"balance": {"mode": "none"}},
        {"objective": "proxy-nca", "class_texts": "names", "hard_negatives": 2},
    ],
    "joint": [
        {},
        {"mix": "alternate", "contrast": {"objective": "proxy-nca"}},
        {"denoise": {"decoder": "tied"}, "contrast": {"pairs": "explicit"}},
    ],
    "simcse": [
        {},
        {"projection": False, "views": ["delete-words"], "dropout": 0.2},
        {"views": ["adversarial"]},
        {"supervised": True},
        {"supervised": True, "hard_negatives": False, "projection": True},
    ],
    "mirror": [
        {"min_characters": 10},
        {"span": 0},
        {"drop_head": 0.2},
        {"random_strings": True, "objective": {"name": "nt-xent", "pull": False}},
    ],
    "mnr": [{}, {"hard_negatives": False, "objective": {"name": "info-nce", "directions": "both"}}],
    "cosine": [{}, {"objective": "contrastive"}],
    "multitask": [
        {"mix": "mixed"},
        {"mix": "round_robin"},
        {"mix": "mixed", "freeze": True},
        {"mix": "mixed", "shared": True},
        {"mix": "union"},
    ],
    "finetune": [
        {},
        {"freeze": True},
        {"head": "linear", "class_weights": "balanced"},
        {"label_smoothing": 0.1},
        {"objective": "proxy-nca"},
        {"objective": "label-aware", "views": ["dropout"]},
        {"objective": {"name": "soft-triple", "centres": 3}, "on": "tokens", "views": ["delete-words"]},
    ],
}
every_variant = pytest.mark.parametrize(
    ("kind", "options"), [(kind, options) for kind in PHASES for options in VARIANTS.get(kind, [{}])]
)


@every_variant
def test_a_step_is_finite_and_reaches_every_part_it_trains(model, data, kind, options) -> None:
    phase = make_phase(kind, model, data, batch_size=8, **options)
    phase.train()
    draws = list(phase.batches.epoch(0))[:2]  # alternating phases need two steps to reach all parts
    for draw in draws:
        batch = first_batch(phase)
        output = phase(type(batch)(draw, batch.generator, batch.device))
        assert output.loss.shape == ()
        assert torch.isfinite(output.loss)
        output.loss.backward()
    parts = phase.groups()
    for part, parameters in parts.items():
        for parameter in parameters:
            assert parameter.requires_grad
            assert parameter.grad is not None, part
            assert torch.isfinite(parameter.grad).all(), part
        assert not parameters or any(parameter.grad.abs().sum() > 0 for parameter in parameters), part


@every_variant
def test_groups_name_each_parameter_once_and_all_that_get_a_gradient(model, data, kind, options) -> None:
    phase = make_phase(kind, model, data, batch_size=8, **options)
    listed = [id(parameter) for part in phase.groups().values() for parameter in part]
    assert len(listed) == len(set(listed))
    for draw in list(phase.batches.epoch(0))[:2]:
        batch = first_batch(phase)
        phase(type(batch)(draw, batch.generator, batch.device)).loss.backward()
    learned = {id(p) for p in phase.parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert learned <= set(listed)


@every_variant
def test_validation_gives_the_watched_score_and_disturbs_nothing(model, data, kind, options) -> None:
    phase = make_phase(kind, model, data, batch_size=8, **options)
    phase.train()
    before, state = weights(phase), torch.get_rng_state()
    scores = phase.validate()
    assert phase.watch in scores
    assert all(isinstance(value, float) and np.isfinite(value) for value in scores.values())
    assert phase.validate() == scores, "the same at every evaluation"
    assert all(torch.equal(before[name], value) for name, value in weights(phase).items())
    assert torch.equal(state, torch.get_rng_state())
    assert phase.training
    assert phase.encoder.training


@every_phase
def test_without_validation_rows_there_are_no_scores(model, kind) -> None:
    phase = make_phase(kind, model, make_data(model.encoder, *make_table(40), validation=0))
    assert phase.watch not in phase.validate()


@every_phase
def test_it_trains_on_training_rows_only(model, data, kind) -> None:
    phase = make_phase(kind, model, data, batch_size=8)
    allowed = set(data.train.tolist()) | set(data.unlabelled.tolist())
    held_out = set(data.validation.tolist())
    assert held_out.isdisjoint(allowed)
    seen: set[int] = set()
    tokens = data.tokens
    inner = tokens.padded

    class Spy(type(tokens)):
        def padded(self, rows):
            seen.update(np.asarray(rows).reshape(-1).tolist())
            return inner(rows)

    object.__setattr__(data, "tokens", Spy(**vars(tokens)))
    for part in phase.modules():
        if isinstance(getattr(part, "grown", None), GrownRows):
            part.grown._tokens = data.tokens
        if isinstance(getattr(part, "rows", None), Rows):
            part.rows = replace(part.rows, tokens=data.tokens)
        if getattr(part, "tokens", None) is tokens:  # those of one window at most
            part.tokens = data.tokens
    phase.train()
    for draw in phase.batches.epoch(0):
        batch = first_batch(phase)
        phase(type(batch)(draw, batch.generator, batch.device))
    assert seen
    assert seen <= allowed


@every_phase
def test_trees_are_taken(model, tree_data, kind) -> None:
    phase = make_phase(kind, model, tree_data, batch_size=8)
    assert torch.isfinite(phase(first_batch(phase)).loss)
    assert phase.watch in phase.validate()


@pytest.mark.parametrize("kind", [kind for kind in PHASES if kind not in ("multitask", "cosine")])  # as finetune reads
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_taken(tiny_encoder, kind, family) -> None:
    model = fresh_model(tiny_encoder(family))
    phase = make_phase(kind, model, make_data(model.encoder, *make_table(30)), batch_size=8)
    phase.train()
    loss = phase(first_batch(phase)).loss
    loss.backward()
    assert torch.isfinite(loss)
    silent = [name for name, p in phase.named_parameters() if p.requires_grad and p.grad is None]
    assert not silent or phase.options.skips_parameters, "else it stops distributed training"


@every_phase
def test_the_same_seed_builds_and_draws_the_same(tiny_folder, kind) -> None:
    built = []
    for seed in (0, 0, 1):
        model = fresh_model(tiny_folder)
        phase = make_phase(kind, model, make_data(model.encoder, *make_table(60)), batch_size=8, seed=seed)
        draws = [{key: rows.tolist() for key, rows in draw.items()} for draw in phase.batches.epoch(1)]
        built.append((weights(phase), draws))
    assert all(torch.equal(built[0][0][name], value) for name, value in built[1][0].items())
    assert built[0][1] == built[1][1]
    assert built[0][1] != built[2][1]


@every_phase
def test_facts_are_numbers_and_notes_are_sentences(model, data, kind) -> None:
    phase = make_phase(kind, model, data)
    assert phase.facts()["rows"] > 0
    assert all(isinstance(value, float) for value in phase.facts().values())
    assert all(note.startswith(phase.name) for note in phase.notes())


@every_phase
def test_options_and_phase_go_by_the_kind(kind) -> None:
    assert PHASES.get(kind)().kind == kind
    assert PHASES.get(kind).phase_class().__name__.lower() == kind.replace("-", "")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(RecipeError, match="did you mean 'contrast'"):
        PHASES.get("contrst")


@every_phase
def test_rates_may_be_given_to_the_parts_that_there_are(tiny_folder, kind) -> None:
    parts: set[str] = set()
    for options in VARIANTS.get(kind, [{}]):
        model = fresh_model(tiny_folder)
        parts |= set(make_phase(kind, model, make_data(model.encoder, *make_table(60)), **options).groups())
    assert parts == set(PHASES.get(kind).parts)


def test_labels_of_rows_are_what_the_space_says(model) -> None:
    texts, labels = make_table(30, classes=4)
    data = make_data(model.encoder, texts, tree(labels))
    assert data.targets(data.train).shape == (12, 2)
