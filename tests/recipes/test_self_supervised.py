"""The settings of the papers, for recipes that end with an encoder and no classifier."""

from __future__ import annotations

import pytest

from phasefit.recipes import list_recipes, read_recipe
from phasefit.recipes.settings import parse_settings

NEEDS = {"simcse": "texts", "simcse-supervised": "pairs", "mirror": "texts", "mirror-word": "texts", "mnr": "pairs"}


def test_they_are_there_and_train_no_head() -> None:
    assert set(NEEDS) <= {info.name for info in list_recipes()}
    for name in NEEDS:
        assert not any(phase.trains_head for phase in read_recipe(name).phases)


@pytest.mark.parametrize("name", NEEDS)
def test_what_they_need_of_a_table(name: str) -> None:
    assert [phase.needs for phase in read_recipe(name).phases] == [NEEDS[name]]


def test_simcse() -> None:
    (phase,) = read_recipe("simcse").phases
    assert (phase.lr, phase.batch_size, phase.epochs, phase.projects) == (3e-5, 64, 1, True)
    assert phase.objective == {"name": "info-nce", "temperature": 0.05}
    (phase,) = read_recipe("simcse-supervised").phases
    assert (phase.supervised, phase.projects, phase.hard_negatives) == (True, False, True)


def test_mirror() -> None:
    recipe = read_recipe("mirror")
    (phase,) = recipe.phases
    assert (phase.lr, phase.batch_size, phase.epochs, phase.dropout, recipe.max_length) == (2e-5, 200, 1, 0.1, 50)
    assert (phase.span, phase.min_characters, phase.objective["temperature"]) == (5, 30, 0.04)
    recipe = read_recipe("mirror-word")
    (phase,) = recipe.phases
    assert (phase.lr, phase.batch_size, phase.epochs, phase.dropout, recipe.max_length) == (2e-5, 200, 2, 0.1, 25)
    assert phase.objective == {"name": "nt-xent", "temperature": 0.2, "pull": True}


@pytest.mark.parametrize(
    "settings",
    [
        ["mirror.span=0"],
        ["mirror.dropout=0"],
        ["mirror.drop_head=0.2"],
        ["mirror.objective.pull=false"],
        ["mirror.random_strings=true", "mirror.lr=5e-5"],
        ['mirror.views=["delete-words", {name="adversarial", epsilon=0.2}]'],
    ],
    ids=lambda settings: settings[0].partition("=")[0],
)
def test_the_variants_of_mirror_are_one_setting_away(settings: list[str]) -> None:
    read_recipe("mirror", parse_settings(settings)).check()
