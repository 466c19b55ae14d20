"""Where output goes: results to standard output, everything else to standard error.

Both consoles print strings literally: a class named `[bold]` or `:smile:` is shown as such, and control characters as
escapes. Use `Text` or `style=` for style, never markup. Anything else that is printed goes through `echo`.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from phasefit.control_characters import escape_controls, one_line
from phasefit.progress.console import stderr, stdout

__all__ = ["as_json", "echo", "print_json", "printable", "stderr", "stdout"]


def echo(text: str, stderr: bool = False) -> None:
    """Print text as it is, without wrapping; control characters become escapes."""
    stream = sys.stderr if stderr else sys.stdout
    if stream is not None:  # closed
        stream.write(escape_controls(text) + "\n")


def printable(value: object, limit: int = 60) -> str:
    """A value as one line of a table: control characters as escapes, at most `limit` characters."""
    text = " / ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def print_json(value: object) -> None:
    """Print strict JSON to standard output; NaN and infinity become null."""
    echo(as_json(value))


def as_json(value: object) -> str:
    """Strict JSON of metrics: dictionaries, lists, arrays, numbers and strings; control characters are escaped."""
    return escape_controls(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


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
