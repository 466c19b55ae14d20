"""Data and assets inside a page: JSON that no text can break out of, and the files of `assets/`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from phasefit.report.page.html import Html, clean

DIGITS = 5  # significant ones of embedded numbers


def json_script(data: Any) -> Html:
    """A block of data for the page's own scripts."""
    return Html(f'<script type="application/json">{safe_json(data)}</script>')


def safe_json(data: Any) -> str:
    """JSON without a `<`, so that no text of it ends the script or starts another."""
    text = json.dumps(plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


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
    found = float(f"{value:.{DIGITS}g}")
    return int(found) if found.is_integer() and abs(found) < 1e15 else found


def asset(name: str) -> str:
    """A file of this package's assets, as text."""
    return (files("phasefit.report.page") / "assets" / name).read_text(encoding="utf-8")
