"""Render templates: control characters and markup are escaped, and no text can break out of the JSON of a script."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from phasefit.control_characters import escape_controls
from phasefit.report.page.parts import Column, cells, columns, filled
from phasefit.report.text import in_words, non_empty, shortened

if TYPE_CHECKING:
    from jinja2 import Environment

DIGITS = 5  # significant digits of embedded numbers


def render(template: str, /, **values: Any) -> Markup:
    """Render a file of `templates/`, without surrounding whitespace."""
    return Markup(environment().get_template(template).render(values).strip())


@cache
def environment() -> Environment:
    """Return the templates of pages; imports jinja2 on first use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("phasefit.report.page"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else "" if value is None else escape_controls(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"cells": cells, "filled": filled, "in_words": in_words, "non_empty": non_empty}
    templates.filters |= {"attributes": attributes, "json_block": json_block, "shortened": shortened}
    templates.globals |= {"asset": asset, "column": Column, "columns": columns}
    templates.globals["parts"] = templates.get_template("parts.html").module
    return templates


def attributes(values: Mapping[str, object]) -> Markup:
    """Render the attributes of an element, without those that are None."""
    known = {name: value for name, value in values.items() if value is not None}
    return Markup().join(Markup(' {}="{}"').format(name, escape_controls(value)) for name, value in known.items())


def json_block(data: Any) -> Markup:
    """Render data for the scripts of the page: JSON without `<`, so that no text can end the script element."""
    text = json.dumps(plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c")
    return Markup(f'<script type="application/json">{safe}</script>')


def plain(data: Any) -> Any:
    """Convert data to JSON values: numbers rounded, null if not finite, control characters in texts escaped."""
    if isinstance(data, str):
        return escape_controls(data)
    if isinstance(data, Mapping):
        return {escape_controls(key): plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray | np.generic):
        return plain(data.tolist())
    if isinstance(data, Sequence):
        return [plain(value) for value in data]
    if isinstance(data, float):
        return rounded(data)
    return data


def rounded(value: float) -> float | int | None:
    """Round to as many digits as a chart can show; None if not finite."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


@cache
def asset(name: str) -> Markup:
    """Read a file of `assets/`."""
    text = (files("phasefit.report.page") / "assets" / name).read_text(encoding="utf-8")
    return Markup(text)
