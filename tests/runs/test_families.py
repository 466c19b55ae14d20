"""Every family of encoders is trained with the whole three-phase recipe, saved and loaded, and predicts the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from phasefit.errors import ModelError
from phasefit.events import Event
from phasefit.models.decoders.tied import FAMILIES as TIED
from phasefit.models.storage import load_model
from phasefit.runs.specification import RunSpec
from running import train
from specs import run_spec
from tiny import FAMILIES, make_table, type_of

STEPS = ("denoise.max_steps=2", "contrast.max_steps=2", "finetune.max_steps=3", "finetune.lr=1e-3")
TABLE = make_table(48)
NEW = [*make_table(9, seed=1)[0], "🙂 naïve\ttext", "one"]


def silent(_: Event) -> None:
    pass


def request(folder: Path, out: Path, decoder: str = "light") -> RunSpec:
    settings = (*(step for step in STEPS if decoder == "light" or "contrast" not in step), f"denoise.decoder={decoder}")
    recipe = "three-phase" if decoder == "light" else "denoise-finetune"  # contrast has no part in the decoder
    return run_spec(TABLE, recipe=recipe, settings=settings, model=str(folder), out=out, device="cpu")


def run_and_compare(folder: Path, out: Path, decoder: str) -> None:
    """Train, and compare the model in memory with the one in the folder, ours and sentence-transformers'."""
    result = train(request(folder, out, decoder), silent)
    steps = {"denoise": 2, "contrast": 2, "finetune": 3} if decoder == "light" else {"denoise": 2, "finetune": 3}
    assert {phase["name"]: phase["steps"] for phase in result.metrics["phases"]} == steps
    assert np.isfinite(result.metrics["test"]["log_loss"])
    loaded = load_model(out, device="cpu")
    trained, untrained = result.model.embed(NEW), load_model(folder, device="cpu").embed(NEW)
    assert not np.allclose(trained, untrained, atol=1e-4), "the encoder has learned"
    assert loaded.predict_proba(NEW) == pytest.approx(result.model.predict_proba(NEW), abs=1e-6)
    assert loaded.predict(NEW) == result.model.predict(NEW)
    plain = SentenceTransformer(str(out / "encoder"), device="cpu").encode(NEW)
    assert plain == pytest.approx(trained, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_whole_recipe(tiny_encoder, tmp_path: Path, family: str) -> None:
    run_and_compare(tiny_encoder(family), tmp_path / "run", "light")


@pytest.mark.parametrize("family", [family for family in FAMILIES if type_of(family) in TIED])
def test_the_tied_decoder_of_supported_families(tiny_encoder, tmp_path: Path, family: str) -> None:
    run_and_compare(tiny_encoder(family), tmp_path / "run", "tied")


@pytest.mark.parametrize("family", [family for family in FAMILIES if type_of(family) not in TIED])
def test_other_families_are_refused_clearly(tiny_encoder, tmp_path: Path, family: str) -> None:
    with pytest.raises(ModelError) as caught:
        train(request(tiny_encoder(family), tmp_path / "run", "tied"), silent)
    message = str(caught.value)
    assert f"not {type_of(family)}; use decoder = 'light'" in message
    assert all(known in message for known in TIED)
    assert list(tmp_path.iterdir()) == [], "no files remain"


def test_every_promised_family_is_tested() -> None:
    promised = ["bert", "roberta", "distilbert", "mpnet", "electra", "albert", "deberta-v2", "deberta-v3", "modernbert"]
    assert set(FAMILIES) >= {*promised, "xlm-roberta"}
