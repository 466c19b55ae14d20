"""An exported folder answers as the run does: every label kind, pair encoding, way to read long texts, and prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exporting import KINDS, PAIRS, ROWS, add_task, one_task, table_of, write_export
from phasefit.export.checks import compare
from phasefit.export.graph import Graph
from phasefit.models.exported import ExportedModel
from phasefit.models.model import Model
from tiny import FAMILIES, fresh_model


def model_of(folder: Path, long: Any, prompt: str, tasks: list[tuple[str, Any]]) -> Model:
    """Several tasks over one encoder, with a layer after its pooling."""
    model = fresh_model(folder)
    model.encoder.append_dense("paper", seed=0)
    model.encoder.max_length = 24
    model.encoder.set_long(long)
    if "{text}" in prompt:
        model.encoder.set_template(prompt)
    else:
        model.encoder.prompt = prompt
    for kind, pair in tasks:
        add_task(model, f"{kind}-{pair}", kind, pair)
    return model.eval()


QUICK = ("roberta", "deberta-v3", "modernbert")  # each builds its attention mask in another way
TASKS = [*((kind, None) for kind in KINDS), *zip(KINDS, PAIRS[1:], strict=True), ("multi", "together")]


@pytest.mark.parametrize(
    ("long", "prompt"), [("truncate", ""), ("head-tail", "query: "), ("windows", "{text} is about {mask}")]
)
def test_the_export_equals_the_run(tmp_path: Path, tiny_encoder: Callable[..., Path], long: str, prompt: str) -> None:
    check_equal(tmp_path, tiny_encoder(normalize=not prompt), long, prompt, TASKS)


@pytest.mark.long
@pytest.mark.parametrize("prompt", ["", "query: ", "{text} is about {mask}"])
@pytest.mark.parametrize("long", ["truncate", "head-tail", "windows"])
def test_every_combination(tmp_path: Path, tiny_encoder: Callable[..., Path], long: str, prompt: str) -> None:
    every = [(kind, pair) for kind in KINDS for pair in PAIRS]
    check_equal(tmp_path, tiny_encoder(normalize=bool(prompt)), long, prompt, every)


def check_equal(tmp_path: Path, folder: Path, long: str, prompt: str, tasks: list[tuple[str, Any]]) -> None:
    model = model_of(folder, long, prompt, tasks)
    exported = ExportedModel.load(write_export(model, tmp_path / "out"), threads=1)
    tables = {f"{kind}-{pair}": table_of(kind, pair) for kind, pair in tasks}
    figures = compare(model, exported, tables, "fp32")
    assert not figures.problems(), figures
    assert figures.tasks.keys() == set(model.heads)
    assert list(exported.heads) == list(model.heads)
    assert {one.labelled for one in figures.tasks.values()} == {ROWS}


OTHERS = [pytest.param(family, marks=pytest.mark.long) for family in FAMILIES if family not in QUICK]


@pytest.mark.parametrize("family", [*QUICK, *OTHERS])
def test_every_family(tmp_path: Path, tiny_encoder: Callable[..., Path], family: str) -> None:
    model = one_task(tiny_encoder(family))
    exported = ExportedModel.load(write_export(model, tmp_path / "out"), threads=1)
    figures = compare(model, exported, {"default": table_of("single")}, "fp32")
    assert not figures.problems(), figures


def test_an_encoder_without_a_head_only_embeds(tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    model = fresh_model(tiny_encoder())
    exported = ExportedModel.load(write_export(model, tmp_path / "out"), threads=1)
    assert not exported.heads
    figures = compare(model, exported, {"default": table_of("single")}, "fp32")
    assert not figures.problems()
    assert not figures.tasks
    assert figures.texts > 20


def test_tracing_leaves_the_model_as_it_was(tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    model = one_task(tiny_encoder())
    before = model.predict_outputs(table_of("single").texts[1:5])
    kernel = model.encoder.transformer.config._attn_implementation
    write_export(model, tmp_path / "out")
    assert model.encoder.transformer.config._attn_implementation == kernel
    np.testing.assert_array_equal(model.predict_outputs(table_of("single").texts[1:5]), before)


def test_a_label_kind_of_a_plugin_is_refused(
    tiny_encoder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = one_task(tiny_encoder())
    monkeypatch.setattr(type(model.spaces["default"]), "kind", "ordinal")
    with pytest.raises(ValueError, match="labels of kind 'ordinal' cannot be exported"):
        Graph(model)


def test_temperatures_of_labels_without_thresholds(tiny_encoder: Callable[..., Path]) -> None:
    from phasefit.kinds.decision import Decision

    model = one_task(tiny_encoder(), "multi")
    model.decisions["default"] = Decision(1.5)
    texts = table_of("multi").texts[1:5]
    batch = model.encoder.tokenise(texts).batch(np.arange(4))
    with torch.no_grad():
        ours = Graph(model).eval()(**batch)[1].numpy()
    np.testing.assert_allclose(ours, model.predict_outputs(texts), atol=1e-6)
