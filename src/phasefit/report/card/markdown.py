"""Markdown out of what users and runs are called: tables and code blocks that nothing in them can break."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from phasefit.report.text import in_words, known

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, /, **values: Any) -> str:
    """A file of `templates/` filled in; Markdown has no escaping of its own, so `table` and `escape` do it."""
    return environment().get_template(template).render(values).strip() + "\n"


@cache
def environment() -> Environment:
    """The templates of cards; jinja2 is imported only now."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("phasefit.report.card"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"escape": escape, "fence": fence, "quoted": quoted, "shell": shell}
    made.globals["table"] = table
    return made


def facts(pairs: Mapping[str, Any]) -> str:
    """A table of whatever was recorded."""
    return table(["", ""], [[name, in_words(value)] for name, value in known(pairs).items()])


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


def quoted(text: str) -> str:
    """A string as JSON, Python and YAML read it."""
    return json.dumps(text, ensure_ascii=False)


def shell(name: str) -> str:
    """A folder's name as a terminal takes it."""
    return name if re.fullmatch(r"[\w./-]+", name) else quoted(name)
