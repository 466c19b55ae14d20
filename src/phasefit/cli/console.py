"""Where output goes: results to standard output, everything else to standard error.

Both consoles print strings literally: a class named `[bold]` or `:smile:` is shown as such. Use `Text` or `style=` for
style, never markup.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120  # at least, without a terminal; 80 would cut tables that a file can hold


def stdout() -> Console:
    """The console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """The console for progress, notes and warnings."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    return console


def printable(value: object, limit: int = 60) -> str:
    """A value as one line of a table: no control characters or line breaks, at most `limit` characters."""
    text = " / ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def print_json(value: object) -> None:
    """Print strict JSON to standard output; NaN and infinity become null."""
    sys.stdout.write(as_json(value) + "\n")


def as_json(value: object) -> str:
    """Strict JSON of metrics: dictionaries, lists, arrays, numbers and strings."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
