"""Whether a recipe and a request fit the labels at hand, before anything is trained or written. Imports no torch."""

from __future__ import annotations

from phasefit.errors import DataError
from phasefit.recipes import Recipe
from phasefit.runner.prepare import Prepared
from phasefit.runner.request import TrainRequest


def check_recipe(request: TrainRequest, recipe: Recipe, prepared: Prepared) -> None:
    """A later phase must not be the first to say that it cannot use these labels."""
    check_reject(request, prepared)
    kinds = {name: task.space.kind for name, task in prepared.tasks.items()} or {"": prepared.space.kind}
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        options.check_kinds(name, kinds)


def check_reject(request: TrainRequest, prepared: Prepared) -> None:
    """A threshold needs rows that it can be chosen on, and answers that can be withheld."""
    if not 0 <= request.reject < 1:
        raise DataError(f"--reject is a share of the validation rows from 0 to below 1, not {request.reject}")
    if not request.reject:
        return
    if prepared.tasks:
        raise DataError("--reject is about one task, and there are several; leave it out")
    space, validation = prepared.space, prepared.validation
    if space.kind in ("multi", "score"):
        why = "a text may get no label as it is" if space.kind == "multi" else "scores have no probabilities"
        raise DataError(f"--reject is about one class per text, and the labels are of kind '{space.kind}': {why}")
    if validation is None or validation.labels is None:
        raise DataError("--reject chooses its threshold on validation rows, and there are none; give --validation")
