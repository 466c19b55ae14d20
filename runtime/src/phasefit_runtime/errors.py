"""The errors and the warning of the runtime; each message is one sentence."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LONGEST = 600  # characters of a message


class _OneLineError(ValueError):
    def __str__(self) -> str:
        """The message on one line: names that it quotes may come from a stranger."""
        line = _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", super().__str__())
        return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]}...{line[-LONGEST // 2 :]}"


class ExportError(_OneLineError):
    """An exported folder is missing, damaged, of a later format, or cannot be run on this machine."""


class InputError(_OneLineError):
    """The texts or an argument cannot be used with this model."""


class TextsCut(UserWarning):
    """Some texts exceed the model's maximum length and were cut."""
