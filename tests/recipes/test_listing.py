"""Every option of every phase says what it does."""

from __future__ import annotations

import pytest

from phasefit.errors import RecipeError
from phasefit.phases import PHASES
from phasefit.recipes.listing import as_written, list_options


@pytest.mark.parametrize("kind", PHASES)
def test_every_option_is_described(kind: str) -> None:
    options = {option.name: option for option in list_options(kind)}
    assert {"epochs", "lr", "patience"} <= set(options)
    assert not [name for name, option in options.items() if not option.description]


def test_inner_tables_are_listed_with_a_dot() -> None:
    options = {option.name: option for option in list_options("contrast")}
    assert options["balance.max_ratio"].default == "4.0"
    assert options["balance.mode"].choices == "code, paper, none"


def test_defaults_are_written_as_in_a_recipe() -> None:
    options = {option.name: option.default for option in list_options("finetune")}
    assert (options["freeze"], options["views"], options["lrs"], options["schedule"]) == ("false", "[]", "{}", "linear")
    assert as_written({"name": "x", "pull": True}) == '{ name = "x", pull = true }'
    assert as_written(["a", 1]) == '["a", 1]'


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(RecipeError, match="did you mean 'contrast'"):
        list_options("contrst")
