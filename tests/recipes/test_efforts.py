"""A recipe may state what less or more effort changes; effort 3 is the recipe as it is."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from phasefit.errors import RecipeError
from phasefit.recipes import list_recipes, parse_recipe, read_recipe, recipe_text

PHASES = '[[phase]]\nkind = "contrast"\n[[phase]]\nkind = "finetune"\nepochs = 3\nmin_steps = 9\n'
LEVELS = [
    (info.name, int(level))
    for info in list_recipes()
    for level in tomllib.loads(recipe_text(info.name)).get("effort", {})
]


def parse(text: str, effort: int = 3) -> list[tuple[str, float, int]]:
    phases = parse_recipe(text, name="own", where="own.toml", effort=effort).phases
    return [(phase.kind, phase.epochs, phase.min_steps) for phase in phases]


def test_an_effort_changes_what_it_says() -> None:
    text = PHASES + '[effort.1]\nwithout = ["contrast"]\n[effort.5.set.finetune]\nepochs = 8\n'
    assert parse(text) == parse(PHASES) == [("contrast", 1, 1), ("finetune", 3, 9)]
    assert parse(text, 1) == [("finetune", 3, 9)]
    assert parse(text, 5) == [("contrast", 1, 1), ("finetune", 8, 1)], "explicit epochs override the minimum"


def test_settings_are_applied_after_the_effort() -> None:
    text = PHASES + "[effort.5.set.finetune]\nepochs = 8\nlr = 1e-3\n"
    recipe = parse_recipe(text, name="own", where="own", settings={"finetune.epochs": 2}, effort=5)
    assert (recipe.phases[1].epochs, recipe.phases[1].lr) == (2, 1e-3)


def test_the_efforts_of_a_base_are_not_those_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(PHASES + "[effort.5.set.finetune]\nepochs = 8\n")
    own = tmp_path / "own.toml"
    own.write_text('base = "first.toml"\nwithout = ["contrast"]\n')
    with pytest.raises(RecipeError, match=r"own\.toml: the recipe has no effort 5; remove --effort and set"):
        read_recipe(str(own), effort=5)
    own.write_text('base = "first.toml"\nwithout = ["contrast"]\n[effort.5.set.finetune]\nepochs = 4\n')
    assert read_recipe(str(own), effort=5).phases[0].epochs == 4


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[effort.6.set.finetune]\nepochs = 1", "'effort' must be tables from 1 to 5"),
        ("[effort.3.set.finetune]\nepochs = 1", "without 3, which is the recipe"),
        ("[effort.high]\n", "'effort' must be tables from 1 to 5"),
        ("[effort.5.finetune]\nepochs = 1", "effort.5 may only have 'without'"),
        ('[effort]\n5 = "long"', "effort.5 may only have 'without'"),
        ('[effort.5]\nwithout = ["denoise"]', "effort 5: without: .*no phase 'denoise'"),
        ("[effort.5.set.contrst]\nepochs = 2", "effort 5: set: .*did you mean 'contrast'"),
        ("[effort.5.set.finetune]\nepoch = 2", "unknown option 'epoch'"),
    ],
)
def test_errors_name_the_file_and_the_effort(table: str, message: str) -> None:
    with pytest.raises(RecipeError, match=f"own.toml.*{message}"):
        parse(PHASES + table, 5)


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_every_packaged_effort_reads_and_differs(name: str, level: int) -> None:
    recipe = read_recipe(name, effort=level)
    recipe.check()
    assert recipe.phases != read_recipe(name).phases
    assert recipe.trains_head == read_recipe(name).trains_head


def test_the_refusal_names_all_packaged_recipes_with_efforts() -> None:
    with pytest.raises(RecipeError) as error:
        read_recipe("finetune", effort=5)
    named = str(error.value).partition("with efforts: ")[2].replace(" or ", ", ").split(", ")
    assert sorted(named) == sorted({name for name, _ in LEVELS})
