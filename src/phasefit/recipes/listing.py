"""Lists the options of a recipe, the objectives and the views, with their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from phasefit.files.toml import toml_value
from phasefit.phases import PHASES
from phasefit.registry import Registry

REGISTERED = ("objectives", "views")
MAX_LENGTH = (
    "maximum number of tokens per text; auto: 1.2 times the longest of a tenth of the texts; train: 1.2 times the "
    "longest training text"
)


@dataclass(frozen=True)
class OptionInfo:
    """One option, with the name that recipes and `--set` use."""

    name: str
    default: str
    choices: str
    description: str


WHOLE_RUN = (  # options of the whole run, above the phases
    OptionInfo("max_length", "model", "model, auto, train, a number", MAX_LENGTH),
    OptionInfo("prompt", "", "", "template for every text, e.g. '{text} It is about {mask}.'"),
    OptionInfo("long", "", "truncate, head-tail, windows", "what to do with longer texts; also --long"),
)


def list_options(kind: str) -> list[OptionInfo]:
    """The options of a kind of phase; options of nested tables have dotted names."""
    return list(_options(PHASES.get(kind), ""))


def _options(model: type[BaseModel], prefix: str) -> Iterator[OptionInfo]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _options(inner, f"{prefix}{name}.")
        elif name != "kind":
            default = field.get_default(call_default_factory=True)
            shown = "" if default is None or default is PydanticUndefined else as_written(default)
            yield OptionInfo(f"{prefix}{name}", shown, _choices(inner), field.description or "")


def as_written(value: object) -> str:
    """A value as written in a recipe or with --set; strings are without quotes."""
    return value if isinstance(value, str) else toml_value(value)


def _choices(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(map(str, get_args(annotation)))
    if annotation is bool:
        return "true, false"
    return ""


@dataclass(frozen=True)
class RegisteredInfo:
    """An objective or view that a recipe can name; `options` are formatted as in a recipe."""

    name: str
    options: tuple[str, ...]
    description: str


def list_registered(what: str) -> list[RegisteredInfo]:
    """All objectives or all views; imports torch."""
    registered: Registry[Any]
    if what == "objectives":
        from phasefit.objectives import OBJECTIVES

        registered = OBJECTIVES
    else:
        from phasefit.models.views import VIEWS

        registered = VIEWS
    loaded, broken = registered.loadable()
    known = [RegisteredInfo(name, _option_texts(kind), _first_sentence(kind)) for name, kind in loaded.items()]
    return [*known, *(RegisteredInfo(name, (), str(problem)) for name, problem in broken.items())]


def _option_texts(kind: Any) -> tuple[str, ...]:
    return tuple(
        f"{field.name} (required)" if field.default is MISSING else f"{field.name} = {_default(field.default)}"
        for field in fields(kind)
    )


def _default(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else "none" if value is None else as_written(value)


def _first_sentence(kind: Any) -> str:
    """The first line of the docstring of a class."""
    return inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
