"""Where output goes: results to standard output, everything else to standard error.

Both consoles take strings literally: a class called `[bold]` or `:smile:` is shown as it is, so style comes from
`Text` and from `style=`, never from markup.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120  # without a terminal there is no width to ask for; 80 would cut tables that a file can hold


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
    """A value as one line of a table: no control characters, no line breaks, no more than `limit` characters."""
    text = " / ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def print_json(value: object) -> None:
    """Strict JSON on standard output: what is not a number becomes null."""
    sys.stdout.write(as_json(value) + "\n")


def as_json(value: object) -> str:
    """Strict JSON text of anything metrics are made of."""
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
