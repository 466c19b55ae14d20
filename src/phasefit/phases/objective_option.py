"""From what a recipe says about an objective to the objective."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError
from torch import nn

from phasefit.data.labels import LabelSpace
from phasefit.errors import RecipeError, did_you_mean
from phasefit.models.seeded import seeded
from phasefit.objectives import OBJECTIVES, Objective

WORDS = {
    "labelled": "labelled texts",
    "pairs": "explicit pairs",
    "views": "views of a text",
    "tokens": "token states",
}


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


def check_input(where: str, objective: Objective, wanted: str) -> None:
    """Refuse an objective that cannot be fed what a phase has."""
    if wanted not in objective.inputs:
        able = [name for name, kind in OBJECTIVES.items() if wanted in kind.inputs]
        raise RecipeError(
            f"{where}: objective '{objective.name}' takes no {WORDS[wanted]}; one of these does: {', '.join(able)}"
        )


def check_labels(where: str, objective: Objective, space: LabelSpace) -> None:
    """Refuse labels that agree in part with an objective that knows only alike and unlike."""
    if space.kind != "single" and not objective.graded:
        able = [name for name, kind in OBJECTIVES.items() if kind.graded]
        raise RecipeError(
            f"{where}: objective '{objective.name}' needs one class per text and cannot use labels of kind "
            f"'{space.kind}'; one of these can: {', '.join(able)}"
        )


def make_proxies(objective: Objective, classes: int, dimension: int, seed: int) -> nn.Module | None:
    """What the objective has to learn by itself, in full precision; None for most."""
    with seeded(seed):
        return objective.parameters(classes, dimension)
