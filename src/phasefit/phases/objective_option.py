"""From what a recipe says about an objective to the objective."""

from __future__ import annotations

from typing import Any

from torch import nn

from phasefit.data.labels import LabelSpace
from phasefit.errors import RecipeError
from phasefit.kinds import kind_of
from phasefit.models.named_option import build_named
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
    return build_named(where, given, OBJECTIVES)


def check_input(where: str, objective: Objective, wanted: str) -> None:
    """Refuse an objective that cannot be fed what a phase has."""
    if wanted not in objective.inputs:
        able = [name for name, kind in OBJECTIVES.items() if wanted in kind.inputs]
        raise RecipeError(
            f"{where}: objective '{objective.name}' takes no {WORDS[wanted]}; one of these does: {', '.join(able)}"
        )


def check_labels(where: str, objective: Objective, space: LabelSpace) -> None:
    """Refuse labels that agree in part with an objective that knows only alike and unlike."""
    if kind_of(space).graded and not objective.graded:
        able = [name for name, kind in OBJECTIVES.items() if kind.graded]
        raise RecipeError(
            f"{where}: objective '{objective.name}' needs one class per text and cannot use labels of kind "
            f"'{space.kind}'; one of these can: {', '.join(able)}"
        )


def make_proxies(objective: Objective, classes: int, dimension: int, seed: int) -> nn.Module | None:
    """What the objective has to learn by itself, in full precision; None for most."""
    with seeded(seed):
        return objective.parameters(classes, dimension)
