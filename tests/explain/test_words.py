"""Words with their places."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from phasefit.explain.words import has_unspaced, without, words_of

TEXTS = st.text(alphabet=st.sampled_from(list("ab \t\n.é🙂天気กำ\u0301\u200d\u3000")), max_size=40)


def shown(text: str) -> list[str]:
    return [text[word.start : word.end] for word in words_of(text)]


def test_whitespace_separates_words() -> None:
    assert shown("  good,\tvery\n good! ") == ["good,", "very", "good!"]
    assert shown("") == shown(" \n ") == []
    assert shown("👩‍👩‍👧 naïve") == ["👩‍👩‍👧", "naïve"]


def test_scripts_without_spaces_are_split_into_characters() -> None:
    assert shown("今日は abc天気") == ["今", "日", "は", "abc", "天", "気"]
    assert shown("กำ") == ["กำ"] or len(shown("กำ")) == 2  # a vowel sign may or may not be a mark
    assert shown("か\u3099") == ["か\u3099"]
    assert has_unspaced(["x", "天"])
    assert not has_unspaced(["plain", "Ελληνικά"])


def test_a_deleted_word_takes_the_space_before_it() -> None:
    text = "a very good film ."
    words = words_of(text)
    assert without(text, words, {1}) == "a good film ."
    assert without(text, words, {0}) == "very good film ."
    assert without(text, words, {4}) == "a very good film"
    assert without(text, words, set(range(5))) == ""
    assert without(text, words, set()) == text


@given(TEXTS)
def test_words_cover_everything_but_spaces(text: str) -> None:
    words = words_of(text)
    assert "".join(shown(text)) == "".join(text.split())
    assert all(one.end <= other.start for one, other in pairwise(words))
    for position in range(len(words)):
        kept = "".join(without(text, words, {position}).split())
        assert kept == "".join(part for place, part in enumerate(shown(text)) if place != position)
