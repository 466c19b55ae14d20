"""Check the types and bounds of a run's options: values from Python and from manifests may be anything."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from phasefit.effort_levels import EFFORTS
from phasefit.errors import RecipeError

NAMES = {int: "a whole number", float: "a number", bool: "True or False", str: "a string", Path: "a path"}

LEAST = {
    "seed": 0,
    "checkpoint_minutes": 0,
    "rows": 1,
    "validation_rows": 1,
    "test_rows": 1,
    "top_classes": 2,
    "threads": 1,
    "effort": EFFORTS[0],
}
MOST = {
    "threads": 1024,  # torch aborts the process if the system cannot start that many
    "effort": EFFORTS[-1],
}


def check_option(name: str, value: Any, declared: Any) -> None:
    """Refuse a value that does not have the declared type; equivalents from NumPy and pathlib are accepted."""
    if not _fits(value, declared):
        raise RecipeError(f"--{name.replace('_', '-')} must be {_described(declared)}, not {value!r}")
    least, most = LEAST.get(name, -inf), MOST.get(name, inf)
    if name in LEAST and value is not None and not least <= value <= most:
        bounds = f"from {least} to {most}" if name in MOST else f"at least {least}"
        raise RecipeError(f"--{name.replace('_', '-')} must be {bounds}, not {value!r}")


def _fits(value: Any, declared: Any) -> bool:
    origin, inside = get_origin(declared), get_args(declared)
    if declared is Any:
        return True
    if origin is UnionType:
        return any(_fits(value, one) for one in inside)
    if origin is tuple:
        each = inside[:1] * len(value) if inside[-1] is ... and hasattr(value, "__len__") else inside
        return isinstance(value, list | tuple) and len(value) == len(each) and all(map(_fits, value, each))
    if declared in (int, float):
        return isinstance(value, Integral if declared is int else Real) and not isinstance(value, bool)
    if declared in (str, Path):
        return isinstance(value, str | os.PathLike)
    return isinstance(value, origin or declared)


def _described(declared: Any) -> str:
    origin, inside = get_origin(declared), get_args(declared)
    if origin is UnionType:
        return " or ".join(_described(one) for one in inside)
    if origin is tuple:
        return "a list of strings" if inside[0] is str else f"{len(inside)} whole numbers"
    return "None" if declared is type(None) else "a dict" if origin is Mapping else NAMES.get(declared, str(declared))
