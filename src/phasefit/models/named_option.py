"""From the value in a recipe (a name, or a table with `name` and options) to a registered dataclass."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from phasefit.errors import RecipeError, constraint, did_you_mean
from phasefit.registry import Registry

Registered = TypeVar("Registered")


def build_named(where: str, given: str | dict[str, Any], registry: Registry[type[Registered]]) -> Registered:
    """An instance of the named dataclass, with its options checked."""
    options = {"name": given} if isinstance(given, str) else dict(given)
    name, what = options.pop("name", None), registry.what
    if not isinstance(name, str):
        raise RecipeError(f"{where}: {what} needs a name, e.g. {{ name = '{next(iter(registry))}' }}")
    chosen: Any = registry.get(name, where)
    names = [field.name for field in fields(chosen)]
    for option in options:
        if option not in names:
            raise RecipeError(f"{where}: {what} '{name}' has no option '{option}'; {did_you_mean(option, names)}")
    try:
        built: Registered = TypeAdapter(chosen).validate_python(options)
    except ValidationError as error:
        raise RecipeError(f"{where}: {what} '{name}'{_problem(error)}") from error
    return built


def _problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    if problem["type"] in ("missing", "missing_argument"):
        return f" needs the option '{problem['loc'][-1]}'"
    if not problem["loc"]:  # about several options, which the message names
        return f": {problem['msg'].removeprefix('Value error, ')}"
    message = constraint(problem["msg"])
    place = "".join(f", {part}" for part in problem["loc"]) + ("" if message.startswith("must ") else ":")
    return f"{place} {message} (found {problem['input']!r})"
