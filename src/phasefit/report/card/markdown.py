"""Markdown out of what users and runs are called: tables, sections and code blocks that nothing in them can break."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def facts(pairs: Mapping[str, Any]) -> str:
    """A table of whatever was recorded."""
    rows = [[key.replace("_", " "), join(value)] for key, value in pairs.items() if value not in (None, "", {}, [])]
    return table(["", ""], rows)


def join(value: Any) -> str:
    """A recorded value on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {join(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(join, value))
    return number(value)


def number(value: Any) -> str:
    """A count in full, a score with four digits, nothing for None, anything else as it is."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def section(title: str, *paragraphs: str) -> str:
    """A heading and its text; nothing at all without text."""
    body = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    return f"## {title}\n\n{body}" if body and title else body


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with every cell escaped; nothing without rows."""
    if not rows:
        return ""
    lines = [head, ["-"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    marked = re.sub(r"([\\`*_\[\]<>#~$&])", r"\\\1", " ".join(str(text).split()))
    return marked.replace("|", "&#124;")  # tables are cut at bars before backslashes are read


def fence(text: str, language: str) -> str:
    """A code block whose fence is longer than any inside it."""
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{ticks}{language}\n{text.strip()}\n{ticks}"
