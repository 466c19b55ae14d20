from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from phasefit.errors import ModelError, RecipeError
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run


def test_it_reads_labelled_and_unlabelled_texts(model, data) -> None:
    phase = make_phase("denoise", model, data, batch_size=8)
    rows = np.concatenate([draw["rows"] for draw in phase.batches.epoch(0)])
    assert sorted(rows.tolist()) == sorted([*data.train, *data.unlabelled])
    assert phase.facts()["rows"] == len(rows)


def test_labels_are_not_used_in_training(model, data) -> None:
    phase = make_phase("denoise", model, replace(data, codes=np.full_like(data.codes, -1)), batch_size=8)
    assert torch.isfinite(phase(first_batch(phase)).loss)
    assert phase.watch == "loss", "without labels there is nothing to probe"
    assert phase.lower_is_better
    assert set(phase.validate()) == {"loss"}


def test_a_fresh_decoder_knows_nothing(model, data) -> None:
    phase = make_phase("denoise", model, data, batch_size=8).eval()
    assert phase(first_batch(phase)).loss.item() == pytest.approx(math.log(len(np.unique(data.tokens.ids))), rel=0.12)


def test_noise_differs_between_steps_but_not_between_evaluations(model, data) -> None:
    phase = make_phase("denoise", model, data, batch_size=8).eval()
    assert phase(first_batch(phase, seed=0)).loss.item() != phase(first_batch(phase, seed=1)).loss.item()
    assert phase.reconstruction() == phase.reconstruction()


def test_it_learns_to_reconstruct(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(60))
    phase = make_phase("denoise", model, data, epochs=6, lr=1e-2, batch_size=8, watch="loss")
    before = phase.reconstruction()["loss"]
    run(phase)
    assert phase.reconstruction()["loss"] < before - 0.15, "the words are random, so most of it cannot be guessed"


def test_the_bottleneck_stays_with_the_encoder(model, data) -> None:
    layers = len(model.encoder.layers)
    make_phase("denoise", model, data, dense="paper")
    assert len(model.encoder.layers) == layers + 1
    make_phase("denoise", model, data, dense="none")
    assert len(model.encoder.layers) == layers + 1


def test_masking_without_a_mask_token_is_refused(model, data) -> None:
    with pytest.raises(RecipeError, match="mask token"):
        make_phase("denoise", model, replace(data, tokens=replace(data.tokens, mask=None)), noise="mask")


def test_the_tied_decoder_is_refused_for_other_families(tiny_encoder) -> None:
    model = fresh_model(tiny_encoder("distilbert"))
    with pytest.raises(ModelError, match="distilbert"):
        make_phase("denoise", model, make_data(model.encoder, *make_table(30)), decoder="tied")


def test_watch_can_be_chosen(model, data) -> None:
    assert make_phase("denoise", model, data).watch == "probe"
    assert make_phase("denoise", model, data, watch="loss").lower_is_better


# --- as a VAE ---------------------------------------------------------------------------------------------------------


def test_a_vae_reports_both_parts_of_its_loss_and_leaves_a_generator(model, data) -> None:
    phase = make_phase("denoise", model, data, batch_size=8, variant="vae", beta=0.25)
    assert model.generator is phase.generator
    phase.before_step(1)
    loss, scalars = phase(first_batch(phase))
    assert loss.item() == pytest.approx((scalars["reconstruction"] + 0.25 * scalars["kl"]).item(), rel=1e-6)
    assert scalars["kl"] > 0
    trained = {id(parameter) for part in phase.groups().values() for parameter in part}
    assert all(id(parameter) in trained for parameter in model.generator.parameters())


def test_plain_denoising_leaves_none(model, data) -> None:
    make_phase("denoise", model, data)
    assert model.generator is None


def test_beta_rises_in_training_and_is_full_in_validation(model, data) -> None:
    phase = make_phase("denoise", model, data, batch_size=8, variant="vae", beta=2.0, beta_steps=4)
    for step, beta in ((1, 0.5), (2, 1.0), (4, 2.0), (9, 2.0)):
        phase.before_step(step)
        loss, scalars = phase(first_batch(phase))
        assert loss.item() == pytest.approx((scalars["reconstruction"] + beta * scalars["kl"]).item(), rel=1e-6)
    phase.before_step(1)
    looked = phase.reconstruction()
    phase.before_step(9)
    assert looked == phase.reconstruction(), "neither a draw nor the step matters"


def test_a_vae_learns_and_pulls_towards_the_prior(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(60))
    options = {"variant": "vae", "epochs": 6, "lr": 1e-2, "batch_size": 8, "watch": "loss", "beta": 0.01}
    phase = make_phase("denoise", model, data, **options)
    before = phase.reconstruction()["loss"]
    events = run(phase)
    kl = [event.scalars["kl"] for event in events if hasattr(event, "scalars")]
    assert phase.reconstruction()["loss"] < before - 0.15
    assert kl[-1] < kl[0]


def test_a_vae_needs_the_light_decoder_and_its_own_phase(model, data) -> None:
    with pytest.raises(ValueError, match="decoder = 'light'"):
        make_phase("denoise", model, data, variant="vae", decoder="tied")
    with pytest.raises(ValueError, match="use a separate phase with kind = 'denoise'"):
        make_phase("joint", model, data, denoise={"variant": "vae"})
