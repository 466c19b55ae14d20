"""The main job with the real default weights on the packaged queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from phasefit.models.encoder.locate import DEFAULT_MODEL, packaged_default
from phasefit.models.storage import load_model
from running import train
from specs import run_spec
from tiny import read_json


@pytest.mark.slow
@pytest.mark.long  # `make demo` trains the same phases
def test_three_phases_on_snips(tmp_path: Path) -> None:
    if packaged_default() is None:
        pytest.skip("the package of the default weights is not installed")
    settings = [f"{phase}.{option}" for phase in ("denoise", "contrast") for option in ("min_steps=1", "max_steps=4")]
    settings += ["finetune.min_steps=1", "finetune.max_steps=40"]
    result = train(run_spec("snips", settings=tuple(settings), out=tmp_path / "run"), lambda _: None)
    assert result.metrics["test"]["accuracy"] > 0.7, "ten intents from 230 queries"
    manifest = read_json(result.folder / "phasefit.json")
    assert manifest["model"] == DEFAULT_MODEL
    assert manifest["data"]["classes"] == 10
    model = load_model(result.folder)
    texts = ["Will it rain in Paris tomorrow?", "Book a table for two"]
    assert len(model.predict(texts)) == 2
    plain = SentenceTransformer(str(result.folder / "encoder"), device="cpu").encode(texts)
    assert plain == pytest.approx(model.embed(texts), abs=1e-5)
