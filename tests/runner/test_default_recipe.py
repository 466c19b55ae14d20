"""Whoever names no recipe gets one that fits the rows, and hears which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from phasefit.errors import RecipeError
from phasefit.runner.default_recipe import FEW_ROWS, asked_recipe, settled_recipe
from phasefit.runner.request import TrainRequest


def settled(rows: int, classes: int, *, unlabelled: object = None, **request: Any) -> tuple[str, list[str]]:
    """The name of the recipe for so many rows, and what was said."""
    asked, notes = TrainRequest("some.csv", **request), []
    prepared: Any = SimpleNamespace(train=range(rows), space=range(classes), unlabelled=unlabelled)
    recipe = settled_recipe(asked, asked_recipe(asked), prepared, notes.append)
    return recipe.name, [note.text for note in notes]


@pytest.mark.parametrize(("each", "name"), [(1, "few-shot"), (FEW_ROWS, "few-shot"), (FEW_ROWS + 1, "three-phase")])
def test_rows_per_class_decide(each: int, name: str) -> None:
    found, notes = settled(7 * each, 7)
    assert found == name
    assert notes == [f"no recipe is named: {name}, for {each} training rows per class; --recipe names another"]


def test_a_named_recipe_stays() -> None:
    assert settled(10, 5, recipe="finetune") == ("finetune", [])


def test_unlabelled_texts_are_for_denoising() -> None:
    assert settled(10, 5, unlabelled=object())[0] == "three-phase"


def test_a_setting_of_a_phase_that_few_rows_skip_asks_for_it() -> None:
    assert settled(10, 5, settings=("denoise.epochs=1",))[0] == "three-phase"
    assert settled(10, 5, settings=("contrast.epochs=1",))[0] == "few-shot"
    with pytest.raises(RecipeError, match="--set"):
        settled(10, 5, settings=("contrast.epoch=1",))
