"""The recipe of those who name none: it follows from how many rows there are per class. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from phasefit.errors import RecipeError
from phasefit.recipes import Recipe, read_recipe
from phasefit.runner.prepare import Prepared
from phasefit.runner.request import DEFAULT_RECIPE, TrainRequest
from phasefit.training.events import Note

MANY, FEW = "three-phase", "few-shot"
FEW_ROWS = 32  # training rows per class, in the mean


def asked_recipe(request: TrainRequest) -> Recipe:
    """The recipe that is asked for; that for many rows as long as nobody knows how many there are."""
    return read_recipe(MANY if request.recipe == DEFAULT_RECIPE else request.recipe, request.settings)


def settled_recipe(request: TrainRequest, recipe: Recipe, prepared: Prepared, listen: Callable[[Note], None]) -> Recipe:
    """The recipe for these rows: another one only where none was named, rows are few and nothing else speaks for it."""
    if request.recipe != DEFAULT_RECIPE:
        return recipe
    each = len(prepared.train) / max(len(prepared.space), 1)
    if each <= FEW_ROWS and prepared.unlabelled is None:  # unlabelled texts are for denoising
        with suppress(RecipeError):  # a setting may be of a phase that only the other one has
            recipe = read_recipe(FEW, request.settings)
    listen(Note(f"no recipe is named: {recipe.name}, for {each:,.0f} training rows per class; --recipe names another"))
    return recipe
