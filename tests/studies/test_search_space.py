"""Spaces: every packaged one fits its recipe; errors are raised before any trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.errors import RecipeError
from phasefit.recipes import list_recipes, read_recipe
from phasefit.studies.search.space import Choices, Range, Space, check_space, value_of
from phasefit.studies.search.space_reading import list_spaces, parse_tries, read_space

SPACES = [info.name for info in list_spaces()]
RECIPES = [info.name for info in list_recipes()]


@pytest.mark.parametrize("name", SPACES)
def test_a_packaged_space_fits_the_recipe_that_it_names(name: str) -> None:
    info = next(info for info in list_spaces() if info.name == name)
    recipe = info.recipe or "finetune"
    space = read_space(name, read_recipe(recipe))
    check_space(space, recipe, {})
    assert info.title
    assert space.dimensions


@pytest.mark.parametrize("name", RECIPES)
def test_the_default_space_fits_any_recipe_and_contains_its_values(name: str) -> None:
    recipe = read_recipe(name)
    space = read_space("default", recipe)
    check_space(space, name, {})
    own = {option: one for option, one in space.dimensions.items() if isinstance(one, Range)}
    assert own
    for option, dimension in own.items():
        assert dimension.low < value_of(recipe, option) < dimension.high


def test_the_grid_of_triple_entropy_is_the_papers() -> None:
    space = read_space("triple-entropy", read_recipe("triple-entropy"))
    assert space.size == 4 * 5 * 7 * 7 * 5
    assert space.dimensions["finetune.objective.scale"] == Choices(("1", "3", "3.3", "4", "6", "8", "10"))


def test_the_papers_rates_of_three_phase() -> None:
    space = read_space("three-phase", read_recipe("three-phase"))
    assert space.dimensions["denoise.lr"] == Choices(("0.0001", "5e-05", "1e-05", "1e-06"))
    assert space.dimensions["finetune.lr"] == Choices(("0.0001", "2e-05", "1e-05", "1e-06"))
    assert space.dimensions["denoise.ratio"].listed() == [0.3, 0.4, 0.5, 0.6, 0.7]
    assert "denoise.lr" not in read_space("three-phase", read_recipe("contrast-finetune")).dimensions


def test_the_original_recipe_is_a_point_that_changes_nothing() -> None:
    recipe = read_recipe("finetune")
    space = read_space("default", recipe)
    own = space.own_point(recipe)
    assert own is not None
    settings = space.settings(own, recipe)
    assert settings["finetune.min_steps"] == 200  # who sets epochs would otherwise lose it
    assert read_recipe("finetune", settings) == recipe


def test_try_accepts_choices_and_ranges() -> None:
    recipe = read_recipe("finetune")
    dimensions = parse_tries(
        ["finetune.lr=1e-5..1e-3", "finetune.head=mlp,linear", "finetune.batch_size=8..16", "max_length=64,128"], recipe
    )
    assert dimensions == {
        "finetune.lr": Range(1e-5, 1e-3, log=True),
        "finetune.head": Choices(("mlp", "linear")),
        "finetune.batch_size": Range(8, 16, whole=True),
        "max_length": Choices(("64", "128")),
    }
    assert dimensions["finetune.lr"].as_setting(0.000123456) == 0.000123


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("finetune.lr", "write it as phase.option=A,B,C"),
        ("finetun.lr=1e-5,1e-4", "did you mean 'finetune'?"),
        ("finetune.lr=a..b", "'a' is not a number"),
        ("finetune.lr=2..1", "low and high must be numbers, with low below high"),
        ("denoise.ratio=0.1,0.2", "finetune has no phase 'denoise'"),
    ],
)
def test_an_invalid_try_is_refused(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message.replace("?", r"\?")):
        parse_tries([text], read_recipe("finetune"))


@pytest.mark.parametrize(
    ("option", "values", "message"),
    [
        ("finetune.epoch", Choices(("1", "2")), "did you mean 'epochs'?"),
        ("finetune.head", Choices(("mlp", "lstm")), "option 'head'"),
        ("finetune.dropout", Range(0.0, 1.5), "option 'dropout'"),
        ("finetune.objective.temperatur", Choices(("1",)), "temperatur"),
    ],
)
def test_an_option_or_value_that_the_recipe_does_not_accept_is_refused(
    option: str, values: Choices | Range, message: str
) -> None:
    with pytest.raises(RecipeError, match=message.replace("?", r"\?")):
        check_space(Space("own", {option: values}), "supcon-finetune", {})


def test_a_space_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[finetune]\nlr = { low = 1e-5, high = 1e-4, log = true }\nlrs.head = [1e-3, 1e-2]\n")
    space = read_space(str(path), read_recipe("finetune"))
    assert space.name == "mine"
    assert list(space.dimensions) == ["finetune.lr", "finetune.lrs.head"]
    path.write_text("[contrast]\nlr = [1e-5]\n")
    with pytest.raises(RecipeError, match="no phase 'contrast'"):
        read_space(str(path), read_recipe("finetune"))
    path.write_text("[finetune]\nlr = 1e-5\n")
    with pytest.raises(RecipeError, match="give a list of values"):
        read_space(str(path), read_recipe("finetune"))
    path.write_text("[finetune]\nlr = { low = 1, high = 2, logg = true }\n")
    with pytest.raises(RecipeError, match="did you mean 'log'"):
        read_space(str(path), read_recipe("finetune"))


def test_an_unknown_space_names_the_nearest() -> None:
    with pytest.raises(RecipeError, match="did you mean 'finetune'"):
        read_space("finetun", read_recipe("finetune"))
