"""A run with a prompt: every text is filled in, from training to plain sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from phasefit.errors import RecipeError
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.model import Model
from phasefit.models.storage import load_model
from phasefit.runs.job import TrainResult
from running import train
from specs import run_spec
from tiny import make_table, write_csv

PROMPT = "{text} about {mask}."
QUICK = ("finetune.max_steps=2", "finetune.min_steps=1")


def fit(model: Path, out: Path, *settings: str) -> TrainResult:
    table = write_csv(out.with_suffix(".csv"), *make_table(40))
    wanted: dict[str, Any] = {"settings": (*QUICK, *settings), "model": str(model), "out": out}
    return train(run_spec(data=table, recipe="finetune", **wanted), lambda event: None)


@pytest.fixture(scope="module")
def run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("prompt") / "run"
    fit(tiny_folder, out, f"prompt={PROMPT}")
    return out


def test_the_prompt_is_saved_with_the_encoder(run: Path) -> None:
    texts = make_table(10)[0]
    model = load_model(run)
    assert model.encoder.template == PROMPT
    plain = SentenceTransformer(str(run / "encoder"), device="cpu")
    assert np.asarray(plain.encode(texts)) == pytest.approx(model.embed(texts), abs=1e-5)
    assert f'prompt = "{PROMPT}"' in (run / "recipe.toml").read_text(encoding="utf-8")
    assert len(model.predict(texts)) == len(texts)


def test_the_phases_of_the_paper_keep_the_prompt(tiny_folder: Path, tmp_path: Path) -> None:
    """The variant "three-phase with prompts" of the study, in few steps."""
    table = write_csv(tmp_path / "table.csv", *make_table(40))
    few = [
        f"{phase}.{limit}=2" for phase in ("denoise", "contrast", "finetune") for limit in ("min_steps", "max_steps")
    ]
    spec = run_spec(
        data=table,
        recipe="three-phase-paper",
        settings=(f"prompt={PROMPT}", *few),
        model=str(tiny_folder),
        out=tmp_path / "run",
    )
    result = train(spec, lambda event: None)
    assert result.model.encoder.template == load_model(tmp_path / "run").encoder.template == PROMPT
    assert [phase["steps"] for phase in result.metrics["phases"]] == [2, 2, 2]
    assert 0 <= result.metrics["test"]["accuracy"] <= 1


def test_continuing_keeps_the_prompt(run: Path, tmp_path: Path) -> None:
    assert fit(run, tmp_path / "on").model.encoder.template == PROMPT


def test_continuing_with_another_prompt_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"prompt: .* was trained with the prompt .* start from another model"):
        fit(run, tmp_path / "on", "prompt={text} and {mask}.")


@pytest.mark.slow
def test_real_weights_accept_a_prompt(tmp_path: Path) -> None:
    encoder = load_encoder()
    whole, texts = Model(load_encoder()), ["A storm is coming.", "pizza, please"]
    encoder.set_template("{text} It is about {mask}.")
    ours = Model(encoder).embed(texts)
    assert ours == pytest.approx(whole.embed([f"{text} It is about [MASK]." for text in texts]), abs=1e-5)
    encoder.save(tmp_path / "saved")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert np.asarray(plain.encode(texts)) == pytest.approx(ours, abs=1e-5)
