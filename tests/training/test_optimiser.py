from __future__ import annotations

import pytest

from phasefit.errors import RecipeError
from phasefit.training.optimiser import make_optimiser
from tiny import fresh_model, make_data, make_phase, make_table


@pytest.fixture
def made(tiny_folder):
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(40))
    return lambda kind, **options: make_phase(kind, model, data, **options)


def test_every_trained_parameter_is_in_one_group(made) -> None:
    phase = made("denoise", dense="identity")
    optimiser = make_optimiser(phase)
    listed = [id(p) for group in optimiser.param_groups for p in group["params"]]
    assert sorted(listed) == sorted(id(p) for part in phase.groups().values() for p in part)
    assert {group["part"] for group in optimiser.param_groups} == {"encoder", "dense", "decoder"}


def test_parts_have_their_own_rates(made) -> None:
    optimiser = make_optimiser(made("finetune", lr=1e-4, lrs={"head": 1e-2}))
    assert {(group["part"], group["peak_lr"]) for group in optimiser.param_groups} == {
        ("encoder", 1e-4),
        ("head", 1e-2),
    }


def test_biases_and_norms_do_not_decay(made) -> None:
    for group in make_optimiser(made("finetune", weight_decay=0.1)).param_groups:
        assert {p.dim() > 1 for p in group["params"]} == {group["weight_decay"] == 0.1}


def test_epsilon_is_the_recipes(made) -> None:
    assert make_optimiser(made("finetune", eps=2e-5)).defaults["eps"] == 2e-5


def test_an_unknown_part_is_named(made) -> None:
    with pytest.raises(ValueError, match=r"unknown part 'heed'; did you mean 'head'\?"):
        made("finetune", lrs={"heed": 1e-3})


def test_nothing_to_train_is_an_error(made) -> None:
    phase = made("contrast")
    phase.encoder.requires_grad_(False)
    with pytest.raises(RecipeError, match="all parameters are frozen, so there is nothing to train"):
        make_optimiser(phase)


def test_lower_layers_learn_more_slowly(made) -> None:
    phase = made("finetune", lr=1e-2, layer_decay=0.5, lrs={"head": 1.0})
    rates = {id(p): group["peak_lr"] for group in make_optimiser(phase).param_groups for p in group["params"]}
    layers = phase.encoder.transformer.encoder.layer
    assert {rates[id(p)] for p in layers[-1].parameters()} == {1e-2}
    assert {rates[id(p)] for p in layers[0].parameters()} == {1e-2 * 0.5 ** (len(layers) - 1)}
    assert {rates[id(p)] for p in phase.encoder.transformer.embeddings.parameters()} == {1e-2 * 0.5 ** len(layers)}
    assert {rates[id(p)] for p in phase.head.parameters()} == {1.0}


def test_frozen_words_are_left_out_and_learn_again_in_the_next_phase(made) -> None:
    def trained(**options: object) -> set[int]:
        groups = make_optimiser(made("finetune", **options)).param_groups
        return {p.data_ptr() for group in groups for p in group["params"]}

    phase = made("finetune", freeze_words=True)
    words = phase.encoder.transformer.get_input_embeddings().weight
    assert words.data_ptr() not in trained(freeze_words=True)
    assert words.data_ptr() in trained()
    lowest, highest = (phase.encoder.transformer.encoder.layer[at].output.dense.weight.data_ptr() for at in (0, -1))
    parameters = trained(frozen_layers=1)
    assert not {lowest, words.data_ptr()} & parameters
    assert highest in parameters


def test_more_layers_than_there_are_cannot_be_frozen(made) -> None:
    with pytest.raises(RecipeError, match="frozen_layers = 9, but model"):
        made("finetune", frozen_layers=9)


def test_both_halves_of_joint_leave_frozen_what_is_frozen(made) -> None:
    phase = made("joint", freeze_words=True, frozen_layers=1)
    trained = {p.data_ptr() for group in make_optimiser(phase).param_groups for p in group["params"]}
    transformer = phase.encoder.transformer
    assert transformer.get_input_embeddings().weight.data_ptr() not in trained
    assert transformer.encoder.layer[0].output.dense.weight.data_ptr() not in trained
    assert transformer.encoder.layer[-1].output.dense.weight.data_ptr() in trained


def test_two_views_have_one_dropout(made) -> None:
    with pytest.raises(ValueError, match="'encoder_dropout' is not used in this phase; use 'dropout'"):
        made("simcse", encoder_dropout=0.0)
