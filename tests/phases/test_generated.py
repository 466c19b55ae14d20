"""Copies of rows of small classes that a VAE made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.errors import RecipeError
from phasefit.phases.contract import Phase
from phasefit.recipes import parse_recipe
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from phasefit.training.state import PhaseState, put_weights, weights_of
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run

STEPS = 5
STEPPING: dict[str, Any] = {"min_steps": STEPS, "max_steps": STEPS, "batch_size": 8, "lr": 1e-3, "patience": 0}
CONTRAST: dict[str, Any] = {"balance": {"generate": True}, "objective": "supcon", **STEPPING}


def built(folder: Path) -> tuple[Any, Phase, Any]:
    """The model, the phase that learns to generate texts, and a function that builds the phase that uses them."""
    model = fresh_model(folder)
    data = make_data(model.encoder, *make_table(sizes=(40, 6, 4)), validation=6)
    denoise = make_phase("denoise", model, data, variant="vae", watch="loss", **STEPPING)
    return model, denoise, lambda: make_phase("contrast", model, data, **CONTRAST)


def test_copies_are_texts_of_their_class_or_noised_rows(tiny_folder: Path) -> None:
    model, denoise, build = built(tiny_folder)
    run(denoise)
    phase = build()
    grown, made = phase.grown, phase.generated
    copies = np.flatnonzero(grown.noisy)
    assert len(copies) == len(made.lengths) > 4
    before = grown.features(np.arange(len(grown)), np.random.default_rng(0))
    assert not made.used(np.arange(len(copies))).any(), "nothing is made while the phase is built"
    phase.before_step(1)
    used = made.used(np.arange(len(copies)))
    assert used.sum() > 0
    assert made.share == pytest.approx(used.mean())
    after = grown.features(np.arange(len(grown)), np.random.default_rng(0))
    width = min(before["input_ids"].shape[1], after["input_ids"].shape[1])
    rows = np.flatnonzero(~grown.noisy)
    assert torch.equal(before["input_ids"][rows, :width], after["input_ids"][rows, :width])
    for copy in np.flatnonzero(used):
        length = int(made.lengths[copy])
        shown = after["input_ids"][copies[copy], :length].tolist()
        assert shown == made.ids[copy, :length].tolist()
        assert after["attention_mask"][copies[copy]].sum() == length
        assert (shown[0], shown[-1]) == (model.encoder.tokenizer.cls_token_id, model.encoder.tokenizer.sep_token_id)
    kept = made.ids.clone()
    phase.before_step(2)
    assert torch.equal(kept, made.ids), "they are made once"
    assert phase(first_batch(phase)).scalars["generated"] == made.share
    assert "generated texts" in " ".join(phase.notes())


def test_texts_that_would_be_of_another_class_are_not_used(tiny_folder: Path) -> None:
    _, denoise, build = built(tiny_folder)
    run(denoise)
    phase = build()
    phase.generated._codes = lambda copies: np.full(len(copies), 99)  # as if each were meant for another class
    phase.before_step(1)
    assert phase.generated.share == 0


def test_a_phase_that_is_resumed_has_the_same_texts(tiny_folder: Path) -> None:
    model, denoise, build = built(tiny_folder)
    run(denoise)
    phase, taken = build(), {}

    def rest(state: PhaseState) -> None:
        if state.step == 2:
            tensors = weights_of(model=model, phase=phase) | state.tensors()
            taken["tensors"] = {name: value.detach().clone() for name, value in tensors.items()}
            taken["facts"] = json.dumps(state.facts())

    list(train_phase(phase, make_accelerator("cpu"), seed=0, on_step_end=rest))
    other, _, build = built(tiny_folder)
    again = build()
    put_weights(taken["tensors"], model=other, phase=again)
    assert torch.equal(again.generated.ids, phase.generated.ids)

    def resume(state: PhaseState) -> None:
        state.load(taken["tensors"], json.loads(taken["facts"]))

    list(train_phase(again, make_accelerator("cpu"), seed=0, resume=resume))
    whole, resumed = weights_of(model=model), weights_of(model=other)
    assert whole.keys() == resumed.keys()
    assert any(name.startswith("model.generator.") for name in whole)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_something_must_have_learned_to_make_them(model, data) -> None:
    with pytest.raises(RecipeError, match="variant = 'vae' before it"):
        make_phase("contrast", model, data, balance={"generate": True})
    contrast, finetune = '[[phase]]\nkind = "contrast"\nbalance.generate = true\n', '[[phase]]\nkind = "finetune"\n'
    vae = '[[phase]]\nkind = "denoise"\nvariant = "vae"\n'
    joint = '[[phase]]\nkind = "joint"\ncontrast.balance.generate = true\n'
    for wrong in (contrast + finetune, vae.replace("vae", "dae") + contrast + finetune, joint + finetune):
        with pytest.raises(RecipeError, match=r"r.toml, phase \d: balance.generate needs .* variant = 'vae'"):
            parse_recipe(wrong, name="r", where="r.toml")
    assert parse_recipe(vae + contrast + finetune, name="r", where="r.toml").phases[1].balance.generate
