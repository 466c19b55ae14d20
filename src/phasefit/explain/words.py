"""Words with their places in a text. A word is what whitespace separates.

Scripts that write no spaces between words (Chinese, Japanese, Thai, ...) are split into characters, each with its
combining marks: a whole sentence as one word would explain nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\S+")
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "]"
)
_JOINERS = "\u200d\ufe0f\uff9e\uff9f"


@dataclass(frozen=True)
class Span:
    """A word's place: its side (1 is the second text of a pair), its first character and the one after its last."""

    start: int
    end: int
    side: int = 0


def words_of(text: str, side: int = 0) -> list[Span]:
    """The words of a text, in order."""
    spans: list[Span] = []
    for match in _WORD.finditer(text):
        if _UNSPACED.search(match.group()):
            spans += [Span(start, end, side) for start, end in _characters(text, *match.span())]
        else:
            spans.append(Span(*match.span(), side))
    return spans


def has_unspaced(texts: Sequence[str]) -> bool:
    """Whether a text is in a script without spaces, so that some words are single characters."""
    return any(_UNSPACED.search(text) for text in texts)


def _characters(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The characters of such scripts one by one, and everything between them as one part."""
    parts: list[tuple[int, int]] = []
    begin = start
    for place in range(start + 1, end + 1):
        if place < end and not _splits(text[place - 1], text[place]):
            continue
        parts.append((begin, place))
        begin = place
    return parts


def _splits(before: str, after: str) -> bool:
    """Whether a part ends between two neighbouring characters."""
    if unicodedata.category(after).startswith("M") or after in _JOINERS:
        return False
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return True
    return unicodedata.category(before).startswith("M") and not after.isalnum()


def without(text: str, words: Sequence[Span], deleted: Collection[int]) -> str:
    """The text without the words at these positions of `words`, each with the whitespace before it."""
    if not deleted:
        return text
    kept, end = [], 0
    for position, word in enumerate(words):
        if position not in deleted:
            kept.append(text[end : word.end])
        end = word.end
    joined = "".join([*kept, text[end:]])
    return joined.lstrip() if 0 in deleted else joined
