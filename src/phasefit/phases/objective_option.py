"""From what a recipe says about an objective to the objective."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from phasefit.errors import RecipeError, did_you_mean
from phasefit.objectives import OBJECTIVES, Objective


def build_objective(where: str, given: str | dict[str, Any]) -> Objective:
    """A name, or a table with `name` and the objective's own options."""
    said = {"name": given} if isinstance(given, str) else dict(given)
    name = said.pop("name", None)
    if not isinstance(name, str):
        raise RecipeError(f"{where}: the objective needs a name, e.g. {{ name = 'cosine' }}")
    if name not in OBJECTIVES:
        raise RecipeError(f"{where}: unknown objective '{name}'; {did_you_mean(name, OBJECTIVES)}")
    chosen: Any = OBJECTIVES[name]
    known = [field.name for field in fields(chosen)]
    for option in said:
        if option not in known:
            raise RecipeError(f"{where}: objective '{name}' has no option '{option}'; {did_you_mean(option, known)}")
    try:
        built: Objective = TypeAdapter(chosen).validate_python(said)
    except ValidationError as error:
        problem = error.errors()[0]
        place = "".join(f", {part}" for part in problem["loc"])
        wrong = problem["msg"].removeprefix("Value error, ")
        raise RecipeError(f"{where}: objective '{name}'{place}: {wrong}") from error
    return built
