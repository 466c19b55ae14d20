"""Stop words: the packaged list and a user's file."""

from __future__ import annotations

import pytest

from phasefit.data.stop_words import stop_words
from phasefit.errors import DataError


def test_english() -> None:
    words = stop_words("english")
    assert {"the", "of", "is", "i'm"} <= words
    assert not {"not", "no", "never"} & words  # removing one would reverse the meaning of a text
    assert 120 < len(words) < 200


def test_a_file(write) -> None:
    assert stop_words(write("de.txt", "\ufeff# Deutsch\nDer\n\nund  # oft\n")) == {"der", "und"}


def test_errors(write) -> None:
    with pytest.raises(DataError, match=r"stop words 'englsh'.*did you mean 'english'"):
        stop_words("englsh")
    with pytest.raises(DataError, match="has no words"):
        stop_words(write("empty.txt", "# nothing\n"))
    with pytest.raises(DataError, match="not UTF-8"):
        stop_words(write("latin.txt", b"f\xfcr\n"))


def test_words_are_folded_as_texts_are(tmp_path) -> None:
    file = tmp_path / "german.txt"
    file.write_text("daß\nMUSS\n", encoding="utf-8")
    assert stop_words(file) == {"daß".casefold(), "muss"}
