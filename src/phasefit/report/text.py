"""Format values for people, in the same way on cards, pages and charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def number(value: Any) -> str:
    """Format a count in full, a score with four digits, None as nothing and anything else with `str`."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def in_words(value: Any) -> str:
    """Format a recorded value on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    return f"{value:,.4g}" if isinstance(value, float) else number(value)


def non_empty(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not empty, with spaces for the underscores in their names."""
    return {name.replace("_", " "): value for name, value in pairs.items() if value not in (None, "", {}, [], ())}


def shortened(text: object, longest: int | None) -> str:
    """Shorten a text to at most `longest` characters, the last of which is an ellipsis."""
    whole = str(text)
    return whole if longest is None or len(whole) <= longest else whole[: max(longest - 1, 1)].rstrip() + "…"
