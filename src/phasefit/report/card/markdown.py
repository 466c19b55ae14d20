"""Markdown tables and code blocks that no text of a user can break."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from phasefit.control_characters import escape_controls, one_line
from phasefit.report.text import in_words, non_empty

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, /, **values: Any) -> str:
    """Render a file of `templates/`. Jinja cannot escape Markdown, so `table` and `escape` do it."""
    return escape_controls(environment().get_template(template).render(values).strip()) + "\n"


@cache
def environment() -> Environment:
    """Return the templates of cards; imports jinja2 on first use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("phasefit.report.card"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {"escape": escape, "fence": fence, "quoted": quoted, "shell": shell}
    templates.globals["table"] = table
    return templates


def facts(pairs: Mapping[str, Any]) -> str:
    """Return a table of recorded values."""
    return table(["", ""], [[name, in_words(value)] for name, value in non_empty(pairs).items()])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with every cell escaped; empty without rows."""
    if not rows:
        return ""
    lines = [head, ["-"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def escape(text: str) -> str:
    """Escape a text so that Markdown shows it literally, on one line."""
    marked = re.sub(r"([\\`*_\[\]<>#~$&])", r"\\\1", " ".join(one_line(text).split()))
    return marked.replace("|", "&#124;")  # tables are split at bars before backslashes are read


def fence(text: str, language: str) -> str:
    """Return a code block whose fence is longer than any fence inside it."""
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{ticks}{language}\n{text.strip()}\n{ticks}"


def quoted(text: str) -> str:
    """Quote a string for JSON, Python and YAML."""
    return json.dumps(text, ensure_ascii=False)


def shell(name: str) -> str:
    """Quote a folder name for a terminal if necessary."""
    return name if re.fullmatch(r"[\w.:@/-]+", name) else quoted(name)
