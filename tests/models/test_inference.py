"""Prediction: no duplicate work, little padding, the order of rows, no stale caches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from phasefit.data.labels import label_space
from phasefit.errors import RecipeError, TextsCut
from phasefit.models.encoder import inference
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.inference import encode_rows, evaluating
from phasefit.models.heads import Head
from phasefit.models.model import TASK, Model
from tiny import HIDDEN, fresh_model, make_table

TEXTS = [*make_table(30)[0], "one", "🙂 naïve\ttext", " ".join(["the"] * 40)]
LONG = " ".join(["song", *["the"] * 20])


@pytest.fixture(scope="module")
def model(tiny_folder: Path) -> Model:
    made = fresh_model(tiny_folder)
    made.heads[TASK], made.spaces[TASK] = Head("mlp", HIDDEN, 3), label_space(["a", "b", "c"])
    return made.eval()


@contextmanager
def batches_of(encoder: Encoder) -> Iterator[list[tuple[int, int]]]:
    """The shapes (rows, longest) of the inputs of the encoder."""
    shapes: list[tuple[int, int]] = []
    hook = encoder.register_forward_pre_hook(lambda _, inputs: shapes.append(tuple(inputs[0]["input_ids"].shape)))
    try:
        yield shapes
    finally:
        hook.remove()


def test_duplicates_are_encoded_once(model: Model) -> None:
    distinct = list(dict.fromkeys(TEXTS))
    picked = np.random.default_rng(0).integers(len(distinct), size=200)
    seen: list[int] = []
    with batches_of(model.encoder) as shapes:
        vectors = model.embed([distinct[place] for place in picked], progress=seen.append)
    assert sum(rows for rows, _ in shapes) == len(set(picked.tolist()))
    assert sum(seen) == 200, "progress counts the copies too"
    assert vectors == pytest.approx(model.embed(distinct)[picked], abs=1e-6)


def test_texts_with_the_same_tokens_are_encoded_once(model: Model) -> None:
    with batches_of(model.encoder) as shapes:
        vectors = model.embed(["a song", "A  Song", "song a", "a song\n"])
    assert [rows for rows, _ in shapes] == [2]
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[3])
    assert not np.allclose(vectors[0], vectors[2])


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.integers(0, len(TEXTS) - 1), max_size=40), batch_size=st.integers(1, 50), budget=st.integers(1, 90)
)
def test_rows_can_be_encoded_in_any_order(model: Model, rows: list[int], batch_size: int, budget: int) -> None:
    tokens = model.encoder.tokenise(TEXTS)
    every = encode_rows(model.encoder, tokens)
    indices = np.array(rows, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch, batches_of(model.encoder) as shapes:
        patch.setattr(inference, "BATCH_TOKENS", budget)
        vectors = encode_rows(model.encoder, tokens, indices, batch_size=batch_size)
    assert vectors.shape == (len(rows), HIDDEN)
    assert torch.allclose(vectors, every[torch.from_numpy(indices)], atol=1e-5)
    assert all(count <= batch_size for count, _ in shapes)
    assert all(count == 1 or count * longest <= budget for count, longest in shapes)
    assert [longest for _, longest in shapes] == sorted((longest for _, longest in shapes), reverse=True)


def test_vectors_are_those_of_sentence_transformers_with_copies_and_one_by_one(model: Model, tiny_folder: Path) -> None:
    texts = [*TEXTS, *TEXTS[:7]]
    plain = SentenceTransformer(str(tiny_folder), device="cpu").encode(texts)
    assert model.embed(texts) == pytest.approx(plain, abs=1e-5)
    assert np.concatenate([model.embed([text]) for text in texts]) == pytest.approx(plain, abs=1e-5)


def test_one_text_and_none(model: Model) -> None:
    with batches_of(model.encoder) as shapes:
        assert model.predict_proba(["a song"]).shape == (1, 3)
        assert model.predict_proba([]).shape == (0, 3)
        assert model.embed([]).shape == (0, HIDDEN)
    assert [rows for rows, _ in shapes] == [1]


@pytest.mark.parametrize("batch_size", [0, -3])
def test_an_empty_batch_size_is_rejected(model: Model, batch_size: int) -> None:
    with pytest.raises(RecipeError, match=f"batch_size must be 1 or greater, not {batch_size}"):
        model.embed(["a song"], batch_size=batch_size)


# --- the tokeniser that is kept ---------------------------------------------------------------------------------------


def shorter(encoder: Encoder) -> None:
    encoder.max_length = 8


def with_template(encoder: Encoder) -> None:
    encoder.set_template("about {mask}: {text}")


def with_prompt(encoder: Encoder) -> None:
    encoder.prompt = "please find "


def cut_in_front(encoder: Encoder) -> None:
    encoder.max_length = 8
    encoder.tokenizer.truncation_side = "left"


def with_case(encoder: Encoder) -> None:
    from tokenizers.normalizers import BertNormalizer

    encoder.tokenizer.backend_tokenizer.normalizer = BertNormalizer(lowercase=False)


def with_more_words(encoder: Encoder) -> None:
    encoder.tokenizer.add_tokens(["album song"])
    encoder.transformer.resize_token_embeddings(len(encoder.tokenizer))


@pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")
@pytest.mark.parametrize("change", [shorter, with_template, with_prompt, cut_in_front, with_case, with_more_words])
def test_the_cached_tokeniser_is_never_stale(tiny_folder: Path, change: Callable[[Encoder], None]) -> None:
    texts = [LONG, "Album song"]
    model = fresh_model(tiny_folder).eval()
    before = model.embed(texts)
    change(model.encoder)
    expected = Model(model.encoder).embed(texts)  # has kept nothing yet
    assert np.array_equal(model.embed(texts), expected)
    assert not np.allclose(before, expected)


def test_truncation_side_and_max_length_can_be_changed_back(tiny_folder: Path) -> None:
    model = fresh_model(tiny_folder).eval()
    model.encoder.max_length = 8
    with pytest.warns(TextsCut):
        first = model.embed([LONG])
    model.encoder.max_length = 40
    whole = model.embed([LONG])  # would warn, were it still cut
    model.encoder.max_length = 8
    with pytest.warns(TextsCut):
        assert np.array_equal(model.embed([LONG]), first)
    assert not np.allclose(first, whole)


def test_the_tokeniser_is_created_once(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    tokeniser = Encoder.tokeniser

    def counted(encoder: Encoder, max_length: int | None = None) -> object:
        made.append(1)
        return tokeniser(encoder, max_length)

    monkeypatch.setattr(Encoder, "tokeniser", counted)
    model = fresh_model(tiny_folder)
    for text in TEXTS[:5]:
        model.embed([text])
    assert len(made) == 1


def test_a_copied_model_uses_its_own_encoder(tiny_folder: Path) -> None:
    model = fresh_model(tiny_folder).eval()
    before = model.embed([LONG])
    other = copy.deepcopy(model)
    other.encoder.max_length = 8
    with pytest.warns(TextsCut):
        assert not np.allclose(other.embed([LONG]), before)
    assert np.array_equal(model.embed([LONG]), before)


# --- modes ------------------------------------------------------------------------------------------------------------


def test_every_module_keeps_its_mode(tiny_folder: Path) -> None:
    model = fresh_model(tiny_folder).eval()
    model.encoder.layers[1].train()
    modes = [part.training for part in model.modules()]
    with evaluating(model):
        assert not any(part.training for part in model.modules())
    assert [part.training for part in model.modules()] == modes
    assert any(modes)
    assert not all(modes)
