"""Every option of a recipe, with its default and what it does, for people who write recipes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from phasefit.files.toml import toml_value
from phasefit.phases import PHASES


@dataclass(frozen=True)
class OptionInfo:
    """One option as `--set` and a recipe name it."""

    name: str
    default: str
    choices: str
    description: str


WHOLE_RUN = (  # these stand above the phases
    OptionInfo("max_length", "model", "model, auto, a number", "tokens at which texts are cut"),
    OptionInfo("prompt", "", "", "a template that every text is filled into, e.g. '{text} It is about {mask}.'"),
    OptionInfo("long", "", "truncate, head-tail, windows", "what becomes of texts with more tokens; also --long"),
)


def list_options(kind: str) -> list[OptionInfo]:
    """The options of a kind of phase; those of inner tables with a dot."""
    return list(_options(PHASES.get(kind), ""))


def _options(model: type[BaseModel], prefix: str) -> Iterator[OptionInfo]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _options(inner, f"{prefix}{name}.")
        elif name != "kind":
            default = field.get_default(call_default_factory=True)
            shown = "" if default is None or default is PydanticUndefined else as_said(default)
            yield OptionInfo(f"{prefix}{name}", shown, _choices(inner), field.description or "")


def as_said(value: object) -> str:
    """A value as a recipe or --set says it; a bare word stands for a string."""
    return value if isinstance(value, str) else toml_value(value)


def _choices(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(map(str, get_args(annotation)))
    if annotation is bool:
        return "true, false"
    return ""
