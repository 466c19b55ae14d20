"""Texts as words separated by whitespace, each with the whitespace before it, so that nothing else changes."""

from __future__ import annotations

import re

import numpy as np

PUNCTUATION = ".,;:!?\"'()[]{}«»„“”‘’…-–"
_WORD = re.compile(r"\s*\S+")


def words_of(text: str) -> list[str]:
    """The words, each with the whitespace before it; whitespace after the last word belongs to none."""
    return _WORD.findall(text)


def core(word: str) -> tuple[str, str, str]:
    """Split a word into leading whitespace and punctuation, its letters, and trailing punctuation."""
    bare = word.lstrip().lstrip(PUNCTUATION)
    inner = bare.rstrip(PUNCTUATION)
    begin = len(word) - len(bare)
    return word[:begin], inner, word[begin + len(inner) :]


def without(text: str, hit: np.ndarray) -> str:
    """The text without the words that `hit` marks; the text itself if it marks none."""
    if not hit.any():
        return text
    words = words_of(text)
    kept = [word for word, deleted in zip(words, hit.tolist(), strict=True) if not deleted]
    tail = text[sum(map(len, words)) :]
    joined = "".join([*kept, tail])
    return joined.lstrip() if hit[0] else joined
