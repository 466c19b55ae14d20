"""Wild texts for property tests: texts that real tables contain, and some that they hopefully never will."""

from __future__ import annotations

from hypothesis import strategies as st

LONG = "LONG"  # stands for a word of 100,000 characters, which hypothesis would print
WORDS = [
    "\U0001f600\U0001f468\u200d\U0001f469",  # emoji, two joined into one
    "\u202e\u05e9\u05dc\u05d5\u05dd",  # right to left, with an override mark
    "e\u0301\u0323",  # marks that combine
    "\u0301",  # a mark with nothing to combine with
    "\u200b",  # an invisible word
    "a\0b",
    '"',
    "''",
    LONG,
    "\r",
    "\r\n",
    ",\t\n",
    ";|\\",
    "\ufeff",
    "\u2028\u2029\x85\x1c\x0b",  # line ends for Python's splitlines
    "\x1b[31m\x07",
    "\ufdfa",  # one letter that normalises to eighteen
    "[MASK][SEP]</s><mask>",
    "the",
    "NA",
    "#",
]


def spelled_out(words: list[str]) -> str:
    """The words as a text."""
    return " ".join(words).replace(LONG, "x" * 100_000)


TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.sampled_from(WORDS), max_size=6).map(spelled_out),
)
ANY_TEXT = st.one_of(TEXT, st.text(st.characters(), max_size=10), st.just("half \ud83d"))
"""With halves of surrogate pairs, which Python allows and UTF-8 does not."""
TEXTS = st.lists(TEXT, min_size=1, max_size=6)
