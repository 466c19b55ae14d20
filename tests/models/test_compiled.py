"""Compiled layers give the same vectors, for batches of any shape, and the same file."""

from __future__ import annotations

import shutil
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from phasefit.data.labels import label_space
from phasefit.errors import PhasefitError
from phasefit.models.encoder import compiled
from phasefit.models.encoder.encoder import Encoder, load_encoder, sentence_vectors
from phasefit.runs.fitting.starting import starting_model
from specs import run_spec


def test_compiled_layers_give_the_same_vectors(tiny_encoder, tmp_path) -> None:
    folder = str(tiny_encoder())
    plain, quick = load_encoder(folder).eval(), load_encoder(folder).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own
        compiled.compile_layers(quick, "eager")  # traced, but not translated to C++, which takes a minute
        for texts in (["play a song", "rain"], ["book a table for two people in paris"] * 3):
            batch = plain.tokenise(texts).batch(np.arange(len(texts)))
            assert torch.allclose(sentence_vectors(quick(batch)), sentence_vectors(plain(batch)), atol=1e-5)
    quick.save(tmp_path / "saved")
    assert load_encoder(str(tmp_path / "saved")).state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize("wanted", [True, False])
def test_a_run_with_compile_compiles_its_model(tiny_folder, monkeypatch, wanted: bool) -> None:
    seen: list[Encoder] = []
    monkeypatch.setattr(compiled, "compile_layers", seen.append)
    request = run_spec("some.csv", model=str(tiny_folder), compile=wanted)
    prepared = SimpleNamespace(tasks={}, space=label_space(["a", "b"]))
    model = starting_model(request, prepared)
    assert seen == ([model.encoder] if wanted else [])


def test_a_missing_compiler_is_an_error(tiny_encoder, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(PhasefitError, match="--compile needs a C"):
        compiled.compile_layers(load_encoder(str(tiny_encoder())))
