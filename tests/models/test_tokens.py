from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.tokens.tokens import SPECIAL
from tiny import FAMILIES, POSITIONS

ODD_TEXTS = [
    "the song of rain",
    "  leading and   trailing  ",
    "tabs\tand\nnew\r\nlines",
    "no\u00a0break\u3000wide\u2009thin",
    "🙂 emoji 👩‍👩‍👧 family🙂glued",
    "don't e-mail naïve C3PO!!! (x)",
    "日本語 テキスト",
    "one",
    "",
    "   ",
]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def encoder(request, tiny_encoder) -> Encoder:
    return load_encoder(str(tiny_encoder(request.param)))


def pieces(encoder: Encoder, text: str) -> dict[int, str]:
    """The tokens of each word, decoded by the tokenizer."""
    tokens = encoder.tokenise([text])
    ids_by_word: dict[int, list[int]] = {}
    for number, word in zip(tokens.ids.tolist(), tokens.words.tolist(), strict=True):
        ids_by_word.setdefault(word, []).append(number)
    return {word: encoder.tokenizer.decode(ids) for word, ids in ids_by_word.items()}


def test_tokens_in_use_are_collected_piece_by_piece(tiny_folder, monkeypatch) -> None:
    tokens = load_encoder(str(tiny_folder)).tokenise(["play a song", "rain in paris", "play rain"])
    expected = sorted(set(tokens.ids.tolist()))
    monkeypatch.setattr("phasefit.models.tokens.tokens.PIECE", 3)
    assert tokens.in_use().tolist() == expected


@pytest.mark.parametrize("text", ["the song of rain", "  please   find\tdinner\nrecipe ", "a\u00a0storm\u3000today"])
def test_words_are_separated_by_whitespace(encoder: Encoder, text: str) -> None:
    decoded = pieces(encoder, text)
    decoded.pop(SPECIAL)
    assert {word: part.strip() for word, part in decoded.items()} == dict(enumerate(text.split()))


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_word_numbers_match_the_words(encoder: Encoder, text: str) -> None:
    tokens = encoder.tokenise([text])
    words = tokens.words[tokens.words != SPECIAL]
    assert (np.diff(words) >= 0).all()
    assert words.max(initial=-1) < max(len(text.split()), 1)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60, deadline=None
)
@given(text=st.text(max_size=40))
def test_word_numbers_of_wild_texts(encoder: Encoder, text: str) -> None:
    tokens = encoder.tokenise([text])
    words = tokens.words[tokens.words != SPECIAL]
    assert (np.diff(words) >= 0).all()
    assert words.max(initial=-1) < max(len(text.split()), 1)


def test_special_tokens_belong_to_no_word(encoder: Encoder) -> None:
    tokens = encoder.tokenise(["the song", "rain"])
    for row in range(2):
        words = tokens.words[tokens.starts[row] : tokens.starts[row + 1]]
        assert words[0] == words[-1] == SPECIAL
        assert (words[1:-1] != SPECIAL).all()


def test_ids_are_those_of_the_tokenizer(encoder: Encoder) -> None:
    tokens = encoder.tokenise(ODD_TEXTS)
    for row, text in enumerate(ODD_TEXTS):
        own = tokens.ids[tokens.starts[row] : tokens.starts[row + 1]].tolist()
        assert own == encoder.tokenizer(text)["input_ids"]


def test_a_batch_is_padded_to_its_longest_text(encoder: Encoder) -> None:
    tokens = encoder.tokenise(["the song of rain and wind", "rain", "storm and wind"])
    batch = tokens.batch(np.array([1, 2]))
    assert batch["input_ids"].shape[1] == tokens.lengths[[1, 2]].max() < tokens.lengths[0]
    gaps = batch["attention_mask"] == 0
    assert (batch["input_ids"][gaps] == encoder.tokenizer.pad_token_id).all()
    assert batch["attention_mask"].sum(1).tolist() == tokens.lengths[[1, 2]].tolist()


def test_rows_are_returned_in_the_given_order(encoder: Encoder) -> None:
    tokens = encoder.tokenise(["the song", "rain today", "storm"])
    both, last = tokens.batch(np.array([2, 0])), tokens.batch(np.array([2]))
    assert both["input_ids"][0, : tokens.lengths[2]].tolist() == last["input_ids"][0].tolist()


def test_long_texts_are_cut_and_counted(encoder: Encoder) -> None:
    tokens = encoder.tokenise(["the " * 200, "rain", "song " * 62 + "song"])
    assert tokens.lengths.max() == POSITIONS
    assert tokens.cut == 2
    assert tokens.ids[tokens.starts[1] - 1] == encoder.tokenizer.sep_token_id, "the end token stays"


def test_tokens_are_stored_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phasefit.models.tokens.tokens.CHUNK", 256)
    texts = ["the song of rain and storm today please"] * 10_000
    encoder.tokenise(texts[:256])
    tracemalloc.start()
    try:
        tokens = encoder.tokenise(texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    whole = sum(part.nbytes for part in (tokens.ids, tokens.words, tokens.starts, tokens.lost))
    assert peak < 1.5 * whole


def test_more_texts_than_a_chunk(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"the song {number}" for number in range(25)]
    whole = encoder.tokenise(texts)
    monkeypatch.setattr("phasefit.models.tokens.tokens.CHUNK", 7)
    cut = encoder.tokenise(texts)
    for name in ("ids", "words", "starts"):
        assert np.array_equal(getattr(whole, name), getattr(cut, name))


def test_no_texts(encoder: Encoder) -> None:
    assert len(encoder.tokenise([])) == 0


def test_tokenising_does_not_change_the_tokenizer(encoder: Encoder) -> None:
    before = encoder.tokenizer.backend_tokenizer.to_str()
    encoder.tokenise(["the song"], max_length=8)
    assert encoder.tokenizer.backend_tokenizer.to_str() == before


def test_a_prompt_is_part_of_the_input_but_not_of_the_words(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.prompt = "please find: "
    tokens = encoder.tokenise(["the song"])
    assert tokens.ids.tolist() == encoder.tokenizer("please find: the song")["input_ids"]
    words = tokens.words[tokens.words != SPECIAL]
    assert words.tolist() == [0, 1], "noise and stop words never touch the prompt"


def test_a_tokenizer_that_cuts_on_the_left(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.tokenizer.truncation_side = "left"
    text = "the " * 100 + "song"
    cut = encoder.tokenizer(text, truncation=True, max_length=POSITIONS)["input_ids"]
    assert encoder.tokenise([text]).ids.tolist() == cut


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_encodes_a_text_of_maximum_length(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family)))
    assert encoder.position_limit == POSITIONS
    batch = encoder.tokenise(["the " * 300]).batch(np.array([0]))
    assert batch["input_ids"].shape == (1, POSITIONS)
    assert encoder(batch)["sentence_embedding"].isfinite().all()
