"""Control characters in texts of users: shown as escapes, refused in names.

Column names, file names and labels may contain anything, and may come from a stranger. Escape sequences could rewrite a
terminal, line breaks could forge a message, and bidirectional overrides could reorder a line. Each output escapes what
it shows in one place: the consoles and the error line of the command line, cards, pages, pictures and study tables.
"""

from __future__ import annotations

import re

# C0, DEL and C1; line and paragraph separators; bidirectional embeddings, overrides and isolates; lone surrogates and
# noncharacters, which cannot be written to a file or a page.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SPACES = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Invisible characters that make two different names look equal; joiners and direction marks belong to scripts.
_INVISIBLE = re.compile("[\xad\u061c\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0001-\U000e007f]")
_LONG_WORD = re.compile(r"\S{301,}")
LONGEST_MESSAGE = 1_200  # characters: a message that quotes a file must stay readable


def escape_controls(text: object) -> str:
    r"""The text with control characters as escapes such as \u001b; line breaks and tabs stay.

    JSON, TOML, YAML and Python read these escapes in the same way.
    """
    return _CONTROLS.sub(_escape, str(text).replace("\r\n", "\n"))


def one_line(text: object) -> str:
    """The text on one line: line breaks and tabs become spaces, other control characters escapes."""
    return escape_controls(_SPACES.sub(" ", str(text)))


def message_line(text: object) -> str:
    """An error or warning on one line: invisible characters as escapes, and long values and messages shortened."""
    line = _LONG_WORD.sub(lambda word: _shortened(word.group(), 120), _INVISIBLE.sub(_escape, one_line(text)))
    return _shortened(line, LONGEST_MESSAGE)


def has_controls(name: str) -> bool:
    """Whether a name contains a control character, a line break or a tab."""
    return _CONTROLS.search(name) is not None


def _shortened(text: str, most: int) -> str:
    """The text without its middle if it is longer than `most`: the end often says what to do."""
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-(most // 2) :]}"


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return character if character in "\n\t" else f"\\u{ord(character):04x}"
