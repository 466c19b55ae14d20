"""Templates to markup: every value is cleaned and escaped, and no text can break out of the data of a script."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from phasefit.report.page.parts import Column, cells, columns, filled
from phasefit.report.text import clean, in_words, known, shortened

if TYPE_CHECKING:
    from jinja2 import Environment

DIGITS = 5  # significant ones of embedded numbers


def render(template: str, /, **values: Any) -> Markup:
    """A file of `templates/` filled in, without space around it."""
    return Markup(environment().get_template(template).render(values).strip())


@cache
def environment() -> Environment:
    """The templates of pages; jinja2 is imported only now."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("phasefit.report.page"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else "" if value is None else clean(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"json_block": json_block, "cells": cells, "filled": filled, "in_words": in_words, "known": known}
    made.filters |= {"attributes": attributes, "shortened": shortened}
    made.globals |= {"asset": asset, "column": Column, "columns": columns}
    made.globals["parts"] = made.get_template("parts.html").module
    return made


def attributes(values: Mapping[str, object]) -> Markup:
    """The attributes of an element, without those that are None."""
    known = {name: value for name, value in values.items() if value is not None}
    return Markup().join(Markup(' {}="{}"').format(name, clean(value)) for name, value in known.items())


def json_block(data: Any) -> Markup:
    """Data for the page's own scripts: JSON without a `<`, so that no text of it ends the script or starts another."""
    text = json.dumps(plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c")
    return Markup(f'<script type="application/json">{safe}</script>')


def plain(data: Any) -> Any:
    """The same as JSON knows it: numbers rounded, null for what is no number, texts cleaned."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, Mapping):
        return {clean(key): plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray | np.generic):
        return plain(data.tolist())
    if isinstance(data, Sequence):
        return [plain(value) for value in data]
    if isinstance(data, float):
        return rounded(data)
    return data


def rounded(value: float) -> float | int | None:
    """Five digits are more than a screen shows."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


@cache
def asset(name: str) -> Markup:
    """A file of this package's assets."""
    text = (files("phasefit.report.page") / "assets" / name).read_text(encoding="utf-8")
    return Markup(text)
