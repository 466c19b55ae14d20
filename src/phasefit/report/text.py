"""Values as people read them, the same on cards, on pages and in charts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# What no page may hold (lone surrogates, which UTF-8 has no bytes for) or what HTML reads as something else.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def number(value: Any) -> str:
    """A count in full, a score with four digits, nothing for None, anything else as it is."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def in_words(value: Any) -> str:
    """A recorded value on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    return f"{value:,.4g}" if isinstance(value, float) else number(value)


def known(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """What was recorded and is not empty, by a name that people read."""
    return {name.replace("_", " "): value for name, value in pairs.items() if value not in (None, "", {}, [], ())}


def shortened(text: object, longest: int | None) -> str:
    """The text up to so many characters, with an ellipsis where it was cut."""
    whole = str(text)
    return whole if longest is None or len(whole) <= longest else whole[: max(longest - 1, 1)].rstrip() + "…"


def clean(text: object) -> str:
    """Text as any page can hold it: control characters as their pictures, what is no character as U+FFFD."""
    return _UNPRINTABLE.sub(_stand_in, str(text).replace("\r\n", "\n"))


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"
