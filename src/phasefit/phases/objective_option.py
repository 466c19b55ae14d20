"""Build and check the objective that a recipe names."""

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
    """Build an objective from its name, or from a table with `name` and its options."""
    return build_named(where, given, OBJECTIVES)


def check_input(where: str, objective: Objective, wanted: str) -> None:
    """Raise if the objective does not accept the input of a phase."""
    if wanted not in objective.inputs:
        suitable = [name for name, kind in OBJECTIVES.items() if wanted in kind.inputs]
        raise RecipeError(
            f"{where}: objective '{objective.name}' does not accept {WORDS[wanted]}; use one of: {', '.join(suitable)}"
        )


def check_row_weights(where: str, given: str | dict[str, Any] | None) -> None:
    """Raise if the objective, if there is one, cannot use the weights of rows."""
    if given is None or (objective := build_objective(where, given)).weighs_rows:
        return
    suitable = [name for name, kind in OBJECTIVES.items() if kind.weighs_rows and {*kind.inputs} & {*objective.inputs}]
    raise RecipeError(
        f"{where}: objective '{objective.name}' does not support sample_weight; use one of: {', '.join(suitable)}"
    )


def check_labels(where: str, objective: Objective, space: LabelSpace) -> None:
    """Raise if labels can agree partly and the objective only distinguishes same and different."""
    if kind_of(space).graded and not objective.graded:
        suitable = [name for name, kind in OBJECTIVES.items() if kind.graded]
        raise RecipeError(
            f"{where}: objective '{objective.name}' needs one class per text and cannot use labels of kind "
            f"'{space.kind}'; use one of: {', '.join(suitable)}"
        )


def weight_notes(where: str, objective: Objective, ce_weight: float) -> list[str]:
    """A note if cross-entropy or the objective has no weight, so that a part of the phase is not trained."""
    if ce_weight == 1:
        return [f"{where}: ce_weight = 1, so objective '{objective.name}' has no effect; lower it to use the objective"]
    if ce_weight == 0:
        return [f"{where}: ce_weight = 0, so the head is not trained; raise it, or train the head in a later phase"]
    return []


def make_proxies(objective: Objective, classes: int, dimension: int, seed: int) -> nn.Module | None:
    """The trainable parameters of the objective, in full precision; None for most."""
    with seeded(seed):
        return objective.parameters(classes, dimension)
