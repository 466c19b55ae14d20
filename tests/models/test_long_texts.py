"""Texts with more tokens than the Transformer supports: truncated, cut in the middle, read in windows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.modules import Pooling

from phasefit.errors import RecipeError
from phasefit.models.encoder.encoder import Encoder, load_encoder, sentence_vectors
from phasefit.models.encoder.long_texts import MOST_WINDOWS, WAYS, Long, windows_of
from phasefit.models.tokens.tokens import features
from tiny import FAMILIES, first_batch, fresh_model, make_data, make_phase, make_table, run

Make = Callable[..., Path]
SIZE = 12
SHORT = "play a song"
LONG = " ".join(f"{word} {place}" for place, word in enumerate(["rain", "play", "table", "paris", "song"] * 6))


def encoder_for(folder: Path, way: Long) -> Encoder:
    encoder = load_encoder(str(folder)).eval()
    encoder.max_length = SIZE
    encoder.set_long(way)
    return encoder


def content(encoder: Encoder, text: str) -> list[int]:
    """All tokens of a text, without special ones."""
    return encoder.tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("way", WAYS)
def test_short_texts_are_unchanged(tiny_folder: Path, way: Long) -> None:
    tokens = encoder_for(tiny_folder, way).tokenise([SHORT])
    plain = load_encoder(str(tiny_folder)).tokenise([SHORT])
    assert tokens.ids.tolist() == plain.ids.tolist()
    assert tokens.words.tolist() == plain.words.tolist()
    assert not tokens.cut


def test_windows_contain_all_tokens_and_each_has_special_tokens(tiny_folder: Path) -> None:
    encoder = encoder_for(tiny_folder, "windows")
    tokens = encoder.tokenise([SHORT, LONG])
    ids = tokens.ids[tokens.starts[1] :].tolist()
    windows = [ids[start : start + SIZE] for start in range(0, len(ids), SIZE)]
    first, last = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    assert all((window[0], window[-1]) == (first, last) for window in windows)
    assert [number for window in windows for number in window[1:-1]] == content(encoder, LONG)
    assert len(windows) == windows_of(tokens.lengths[1:], SIZE) > 2
    assert not tokens.cut
    words = tokens.words[tokens.starts[1] :]
    assert np.unique(words[words >= 0]).tolist() == list(range(len(LONG.split())))


def test_tokens_after_the_last_window_are_counted_as_lost(tiny_folder: Path) -> None:
    encoder = encoder_for(tiny_folder, "windows")
    endless = " ".join([LONG] * 20)
    tokens = encoder.tokenise([endless])
    assert tokens.lengths.tolist() == [MOST_WINDOWS * SIZE] == [encoder.reach]
    assert tokens.lost.tolist() == [len(content(encoder, endless)) - MOST_WINDOWS * (SIZE - 2)]


def test_head_tail_keeps_the_start_and_the_end(tiny_folder: Path) -> None:
    encoder = encoder_for(tiny_folder, "head-tail")
    tokens = encoder.tokenise([LONG])
    ids, whole = tokens.ids.tolist(), encoder.tokenizer(LONG)["input_ids"]
    assert ids == whole[:3] + whole[-9:]
    assert tokens.lost.tolist() == [len(whole) - SIZE]
    assert tokens.words[1] == 0
    assert tokens.words[-2] == len(LONG.split()) - 1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_vector_is_the_mean_over_the_tokens_of_all_windows(tiny_encoder: Make, family: str) -> None:
    encoder = encoder_for(tiny_encoder(family, dropout=0.0, normalize=False), "windows")
    tokens = encoder.tokenise([LONG, SHORT, LONG + " " + SHORT])
    with torch.no_grad():
        vectors = sentence_vectors(encoder(tokens.batch(np.arange(3))))
        for row in range(3):
            ids = tokens.ids[tokens.starts[row] : tokens.starts[row + 1]]
            states = []
            for start in range(0, len(ids), SIZE):
                window = ids[None, start : start + SIZE]
                states.append(encoder(features(window, np.ones_like(window)))["token_embeddings"][0])
            torch.testing.assert_close(vectors[row], torch.cat(states).mean(dim=0), rtol=1e-4, atol=1e-5)


def test_every_window_has_a_gradient(tiny_encoder: Make) -> None:
    encoder = encoder_for(tiny_encoder(dropout=0.0), "windows").train()
    tokens = encoder.tokenise([LONG])
    sentence_vectors(encoder(tokens.batch(np.arange(1)))).pow(2).sum().backward()
    gradient = encoder.transformer.get_input_embeddings().weight.grad
    assert gradient is not None
    assert (gradient[np.unique(tokens.ids)].abs().sum(dim=1) > 0).all()


def test_windows_need_pooling_over_all_tokens(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.layers[1] = Pooling(encoder.dimension, pooling_mode="cls")
    encoder.set_long("head-tail")
    with pytest.raises(RecipeError, match="pooling over the last hidden states of all tokens"):
        encoder.set_long("windows")


@pytest.mark.parametrize("kind", ["denoise", "contrast", "finetune", "simcse"])
def test_phases_train_on_windows(tiny_folder: Path, kind: str) -> None:
    model = fresh_model(tiny_folder)
    model.encoder.max_length = SIZE
    model.encoder.set_long("windows")
    texts, labels = make_table(24)
    data = make_data(model.encoder, [f"{text} {LONG}" for text in texts], labels)
    assert data.tokens.lengths.max() > SIZE
    phase = make_phase(kind, model, data, max_steps=2, batch_size=8)
    loss = phase(first_batch(phase)).loss
    assert torch.isfinite(loss)
    run(phase)
    if kind == "denoise":
        assert phase.tokens.lengths.max() <= SIZE


def in_windows(folder: Path) -> Any:
    model = fresh_model(folder)
    model.encoder.max_length = SIZE
    model.encoder.set_long("windows")
    return model


def test_options_that_need_whole_texts_reject_windows(tiny_folder: Path) -> None:
    model = in_windows(tiny_folder)
    data = make_data(model.encoder, *make_table(24))
    with pytest.raises(RecipeError, match="does not support windows"):
        make_phase("denoise", model, data, variant="vae")
    with pytest.raises(RecipeError, match="adversarial"):
        make_phase("finetune", model, data, views=["adversarial"])


def test_copies_of_rows_in_windows_keep_their_words(tiny_folder: Path) -> None:
    model = in_windows(tiny_folder)
    texts, labels = make_table(sizes=[20, 10, 2])
    data = make_data(model.encoder, [f"the of and a to {text} {LONG}" for text in texts], labels, validation=0)
    phase = make_phase("contrast", model, data, balance={"noise": 1.0})
    copies = np.flatnonzero(phase.grown.noisy)
    features = phase.grown.features(copies, np.random.default_rng(0))
    assert len(copies)
    assert features["attention_mask"].sum(dim=1).tolist() == data.tokens.lengths[phase.grown.rows[copies]].tolist()


def test_a_template_is_never_cut(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.set_template("play a song {mask} about {text}")
    encoder.max_length = SIZE
    encoder.set_long("head-tail")
    ids = encoder.tokenise([LONG]).ids.tolist()
    assert len(ids) == SIZE
    assert encoder.tokenizer.mask_token_id in ids
