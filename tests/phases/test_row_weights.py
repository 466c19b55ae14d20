"""The weights of rows in the losses of all phases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.errors import RecipeError
from phasefit.models.model import Model
from phasefit.phases import PHASES
from phasefit.phases.contract import Batch, Phase, PhaseData
from phasefit.recipes import read_recipe
from tiny import first_batch, make_phase

KINDS: dict[str, dict[str, Any]] = {
    "denoise": {},
    "contrast": {},
    "joint": {},
    "finetune": {"objective": "supcon", "views": ["dropout"]},
    "cosine": {},
    "simcse": {},
    "mirror": {},
    "mnr": {"hard_negatives": False},
    "multitask": {},
}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{kind: (kind, options) for kind, options in KINDS.items()},
    "denoise, tied": ("denoise", {"decoder": "tied"}),
    "denoise, vae": ("denoise", {"variant": "vae", "beta": 0.1}),
    "contrast, explicit": ("contrast", {"pairs": "explicit", "class_texts": "names"}),
    "contrast, hard": ("contrast", {"objective": "supcon", "hard_negatives": 2}),
    "finetune, tokens": ("finetune", {"objective": "soft-triple", "on": "tokens"}),
    "finetune, weighting": ("finetune", {"objective": "label-aware"}),
}


def weighted(data: PhaseData, weights: np.ndarray) -> PhaseData:
    return replace(data, weights=weights.astype(np.float32))


def loss_of(phase: Phase, batch: Batch) -> float:
    phase.eval()
    phase.before_step(1)
    torch.manual_seed(0)
    return float(phase(Batch(batch.draw, np.random.default_rng(0), batch.device)).loss.detach())


def built(kind: str, model: Model, data: PhaseData, options: dict[str, Any]) -> Phase:
    return make_phase(kind, model, data, batch_size=14, **options)


def test_every_phase_uses_the_weights_but_self_train_which_weighs_by_confidence() -> None:
    weighing = {kind for kind in PHASES if PHASES.get(kind).weighs_rows}
    assert weighing == set(KINDS) == set(PHASES) - {"self-train"}


def test_self_train_refuses_weights_by_name() -> None:
    with pytest.raises(RecipeError, match="'self-train' does not support sample_weight"):
        PHASES.get("self-train")(kind="self-train").check_row_weights("here")


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_multiply_the_loss(variant: str, model: Model, data: PhaseData) -> None:
    kind, options = VARIANTS[variant]
    losses = {}
    for name, weights in {
        "none": None,
        "ones": np.ones(len(data.texts)),
        "uneven": np.linspace(0.1, 1.9, len(data.texts)),
    }.items():
        phase = built(kind, model, data if weights is None else weighted(data, weights), options)
        losses[name] = loss_of(phase, first_batch(phase))
    assert losses["ones"] == pytest.approx(losses["none"], rel=1e-5)
    assert losses["uneven"] != pytest.approx(losses["none"], rel=1e-5)


def test_validation_losses_are_not_weighted(model: Model, data: PhaseData) -> None:
    weights = np.ones(len(data.texts))
    weights[data.train] = np.linspace(0, 2, len(data.train))
    plain, heavy = (built("denoise", model, one, {}) for one in (data, weighted(data, weights)))
    heavy.load_state_dict(plain.state_dict())
    assert heavy.validate()["loss"] == pytest.approx(plain.validate()["loss"], rel=1e-5)


def test_objectives_that_cannot_use_weights_are_refused_by_name() -> None:
    read_recipe("three-phase").check_row_weights()
    for settings in ({"joint.contrast.objective": "triplet"}, {"contrast.objective": "triplet"}):
        recipe = read_recipe("joint" if "joint.contrast.objective" in settings else "three-phase", settings)
        with pytest.raises(
            RecipeError, match=r"objective 'triplet' does not support sample_weight; use one of: .*supcon"
        ):
            recipe.check_row_weights()

    class Unaware(PHASES.get("finetune")):  # a phase of a plugin that does not know them
        weighs_rows = False

    with pytest.raises(RecipeError, match="mine: the phase 'finetune' does not support sample_weight"):
        Unaware().check_row_weights("mine")
