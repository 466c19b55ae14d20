"""The errors and the warning of the runtime; each message is one sentence."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LONGEST = 600  # characters of a message


def escape_controls(text: str) -> str:
    """The text with control characters as escapes, which JSON reads as these characters."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class _OneLineError(ValueError):
    def __str__(self) -> str:
        """The message on one line: names that it quotes may come from a stranger."""
        line = escape_controls(super().__str__())
        return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]}...{line[-LONGEST // 2 :]}"


class ExportError(_OneLineError):
    """An exported folder is missing, damaged, of a later format, or cannot be run on this machine."""


class InputError(_OneLineError):
    """The texts or an argument cannot be used with this model."""


class TextsCut(UserWarning):
    """Some texts exceed the model's maximum length and were cut."""
