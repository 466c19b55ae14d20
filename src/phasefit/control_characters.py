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


def escape_controls(text: object) -> str:
    r"""The text with control characters as escapes such as \u001b; line breaks and tabs stay.

    JSON, TOML, YAML and Python read these escapes in the same way.
    """
    return _CONTROLS.sub(_escape, str(text).replace("\r\n", "\n"))


def one_line(text: object) -> str:
    """The text on one line: line breaks and tabs become spaces, other control characters escapes."""
    return escape_controls(_SPACES.sub(" ", str(text)))


def has_controls(name: str) -> bool:
    """Whether a name contains a control character, a line break or a tab."""
    return _CONTROLS.search(name) is not None


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return character if character in "\n\t" else f"\\u{ord(character):04x}"
