"""Every objective and every view with its options and their defaults, for people who write recipes."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields
from typing import Any

from phasefit.recipes.option_list import as_said
from phasefit.registry import Registry

REGISTERED = ("objectives", "views")


@dataclass(frozen=True)
class RegisteredInfo:
    """One that a recipe can name; `options` are said as in a recipe, those without a default by name alone."""

    name: str
    options: tuple[str, ...]
    description: str


def list_registered(what: str) -> list[RegisteredInfo]:
    """All objectives, or all views; imports torch."""
    registered: Registry[Any]
    if what == "objectives":
        from phasefit.objectives import OBJECTIVES

        registered = OBJECTIVES
    else:
        from phasefit.models.views import VIEWS

        registered = VIEWS
    return [RegisteredInfo(name, _options(kind), _first_sentence(kind)) for name, kind in registered.items()]


def _options(kind: Any) -> tuple[str, ...]:
    return tuple(
        f"{field.name} (needed)" if field.default is MISSING else f"{field.name} = {_default(field.default)}"
        for field in fields(kind)
    )


def _default(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else "none" if value is None else as_said(value)


def _first_sentence(kind: Any) -> str:
    """The first line of what the class says of itself."""
    return inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
