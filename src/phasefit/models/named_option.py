"""From what a recipe says (a name, or a table with `name` and options) to one of the registered dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from phasefit.errors import RecipeError, did_you_mean

Registered = TypeVar("Registered")


def build_named(
    where: str, what: str, given: str | dict[str, Any], registered: Mapping[str, type[Registered]]
) -> Registered:
    """The one that is meant, with its options checked; `what` is what a user calls such a thing."""
    said = {"name": given} if isinstance(given, str) else dict(given)
    name = said.pop("name", None)
    if not isinstance(name, str):
        raise RecipeError(f"{where}: {what} needs a name, e.g. {{ name = '{next(iter(registered))}' }}")
    if name not in registered:
        raise RecipeError(f"{where}: unknown {what} '{name}'; {did_you_mean(name, registered)}")
    chosen: Any = registered[name]
    known = [field.name for field in fields(chosen)]
    for option in said:
        if option not in known:
            raise RecipeError(f"{where}: {what} '{name}' has no option '{option}'; {did_you_mean(option, known)}")
    try:
        built: Registered = TypeAdapter(chosen).validate_python(said)
    except ValidationError as error:
        raise RecipeError(f"{where}: {what} '{name}'{_problem(error)}") from error
    return built


def _problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    if problem["type"] in ("missing", "missing_argument"):
        return f" needs the option '{problem['loc'][-1]}'"
    place = "".join(f", {part}" for part in problem["loc"])
    found = f" (found {problem['input']!r})" if problem["loc"] else ""
    return f"{place}: {problem['msg'].removeprefix('Value error, ')}{found}"
