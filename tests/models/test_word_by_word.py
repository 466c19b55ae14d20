from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.tokens import word_by_word
from phasefit.models.tokens.tokenising import SPECIAL, Chunk, TextByText
from phasefit.models.tokens.tokens import Tokens
from phasefit.models.tokens.word_by_word import WordByWord, is_word_by_word
from tiny import FAMILIES, FILLERS, POSITIONS

PIECES = [
    *FILLERS,
    "naïve",
    "[MASK]",
    "x[SEP]y",
    "\u0301a",
    "日本",
    "🙂",
    "\x1c",
    "a\x1cb",
    "\t",
    "\u3000",
    "İ",
    "\u200b",
    "",
]
MADE = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)
WILD = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXTS = st.lists(st.one_of(MADE, WILD), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def encoder(tiny_folder) -> Encoder:
    return load_encoder(str(tiny_folder))


def backend_of(encoder: Encoder, longest: int = POSITIONS) -> Any:
    return encoder.tokeniser(longest).args[0]  # type: ignore[attr-defined]


def same(left: Chunk | Tokens, right: Chunk | Tokens, names: Sequence[str]) -> None:
    for name in names:
        assert np.array_equal(getattr(left, name), getattr(right, name)), name
        assert getattr(left, name).dtype == getattr(right, name).dtype, name


def by_hand(backend: Any, text: str) -> list[int]:
    """The word of each token: the number of words that start up to its last character, minus one."""
    encoding = backend.encode(text)
    begins = [match.start() for match in re.finditer(r"\S+", text)]
    pairs = zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
    return [SPECIAL if odd else max(sum(begin < end for begin in begins) - 1, 0) for (_, end), odd in pairs]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS, longest=st.sampled_from([4, 7, POSITIONS]), left=st.booleans())
@example(texts=["x" * 90 + " the song"], longest=7, left=False)
@example(texts=["!" * 90 + " the song"], longest=7, left=True)
def test_tokens_equal_those_of_whole_texts(encoder: Encoder, texts: list[str], longest: int, left: bool) -> None:
    backend = backend_of(encoder, longest)
    if left:
        backend.enable_truncation(longest, direction="left")
    whole, looked_up = TextByText(backend), WordByWord(backend)
    expected = whole(texts)
    for _ in range(2):  # the second time everything is known
        same(looked_up(texts), expected, Chunk._fields)
    assert expected.words.tolist() == [number for text in texts for number in by_hand(backend, text)]


def test_a_template_is_around_every_text(tiny_folder) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.set_template("{text} is about {mask}")
    backend = backend_of(encoder, 12)
    texts = ["the song", "rain " * 20, ""]
    assert is_word_by_word(backend)
    same(WordByWord(backend)(texts), TextByText(backend)(texts), Chunk._fields)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_tokenizers_that_handle_words_independently_qualify(tiny_encoder, family: str) -> None:
    backend = backend_of(load_encoder(str(tiny_encoder(family))))
    assert is_word_by_word(backend) == (FAMILIES[family][0].__name__ == "_wordpiece")


def test_tokenizers_with_a_space_in_an_added_token_do_not_qualify(encoder: Encoder) -> None:
    backend = backend_of(encoder)
    backend.add_tokens(["the song"])
    assert not is_word_by_word(backend)


def test_a_large_table_is_the_same_however_it_is_tokenised(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(FILLERS[number % 7 : number % 11]) + f" n{number % 90}" for number in range(300)]
    alone = encoder.tokenise(texts)
    monkeypatch.setattr("phasefit.models.tokens.tokens.MANY", 1)
    for texts_at_once, characters, remembered in ((4096, 10**6, 10**6), (7, 10**6, 20), (50, 100, 0)):
        monkeypatch.setattr("phasefit.models.tokens.tokens.CHUNK", texts_at_once)
        monkeypatch.setattr("phasefit.models.tokens.tokens.CHUNK_CHARACTERS", characters)
        monkeypatch.setattr(word_by_word, "REMEMBERED", remembered)
        same(encoder.tokenise(texts), alone, ("ids", "words", "starts", "lost"))


@pytest.mark.parametrize("odd", [None, 3, b"the song", "half \ud800 a character", ["the"]])
def test_a_value_that_is_not_a_string_is_a_type_error(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, odd: Any
) -> None:
    for many in (1, 1000):
        monkeypatch.setattr("phasefit.models.tokens.tokens.MANY", many)
        with pytest.raises(TypeError):
            encoder.tokenise(["the song", odd, "rain"])


def test_no_character_after_the_last_space_is_whitespace() -> None:
    assert not any(chr(code).isspace() for code in range(0x3001, 0x110000))
