"""The anisotropy of layers against a second implementation: transformers alone, one text at a time."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from phasefit.errors import DataError
from phasefit.models.encoder.encoder import load_encoder
from phasefit.report.pictures.layers import draw
from phasefit.runs.evaluation import layers as module
from phasefit.runs.evaluation.layers import measure_layers, sample_texts
from tiny import make_table, save_tiny

TEXTS = [*make_table(5)[0], "tokenisation of the guitar"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("layers") / "tiny")


def mean_cosine(vectors: list[torch.Tensor]) -> float:
    pairs = combinations(vectors, 2)
    return float(np.mean([torch.cosine_similarity(one, other, dim=0).item() for one, other in pairs]))


def words_of(text: str, offsets: list[list[int]]) -> list[list[int]]:
    """The token positions of each word that whitespace separates."""
    words, start = [], 0
    for word in text.split():
        begin = text.index(word, start)
        start = begin + len(word)
        words.append([at for at, (low, high) in enumerate(offsets) if begin <= low < high <= start])
    return words


def test_every_layer(folder: Path) -> None:
    facts = measure_layers(load_encoder(str(folder)), TEXTS, batch_size=4)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    pooled: list[list[torch.Tensor]] = []
    words: list[list[torch.Tensor]] = []
    for text in TEXTS:
        batch = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
        offsets = batch.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            states = [layer[0] for layer in model(**batch, output_hidden_states=True).hidden_states]
        pooled.append([layer.mean(dim=0) for layer in states])
        words += [[layer[places].mean(dim=0) for layer in states] for places in words_of(text, offsets)]
    assert (facts["texts"], facts["words"]) == (6, len(words))
    assert [one["layer"] for one in facts["layers"]] == [0, 1, 2]
    for layer, one in enumerate(facts["layers"]):
        assert one["texts"] == pytest.approx(mean_cosine([states[layer] for states in pooled]), abs=1e-5)
        assert one["words"] == pytest.approx(mean_cosine([states[layer] for states in words]), abs=1e-5)


def test_a_sample_of_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WORDS", 3)
    encoder = load_encoder(str(folder))
    first, again = (measure_layers(encoder, TEXTS) for _ in range(2))
    assert first["words"] == 3
    assert first == again


def test_a_sample_of_texts() -> None:
    texts = [str(number) for number in range(50)]
    few = sample_texts(texts, 10)
    assert len(few) == 10
    assert few == sorted(few, key=int), "in their order"
    assert few == sample_texts(texts, 10)
    assert sample_texts(texts) == texts
    with pytest.raises(DataError, match="at least two"):
        sample_texts(["one"])


def test_layers_without_words_have_no_figure(folder: Path) -> None:
    facts = measure_layers(load_encoder(str(folder)), ["", ""])
    assert facts["words"] == 0
    assert {one["words"] for one in facts["layers"]} == {None}
    assert [one["texts"] for one in facts["layers"]] == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize("family", ["roberta", "distilbert", "electra", "deberta-v2", "modernbert"])
def test_other_families(family: str, tmp_path: Path) -> None:
    facts = measure_layers(load_encoder(str(save_tiny(tmp_path / "tiny", family))), TEXTS)
    assert len(facts["layers"]) == 3
    assert all(-1 <= one[name] <= 1 for one in facts["layers"] for name in ("texts", "words"))


@pytest.mark.pictures
def test_the_picture_has_a_line_for_texts_and_one_for_words() -> None:
    layers = [{"layer": 0, "texts": 0.5, "words": None}, {"layer": 1, "texts": 0.7, "words": -0.2}]
    axes = draw({"texts": 10, "words": 20, "layers": layers}).axes[0]
    texts, words = axes.lines
    assert np.asarray(texts.get_ydata()).tolist() == [0.5, 0.7]
    assert np.isnan(np.asarray(words.get_ydata())[0])
    assert axes.get_ylim()[0] < -0.2
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "1"]
