"""Settings: from the command line and from Python to a mapping, and as lines again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from phasefit.errors import RecipeError
from phasefit.recipes import parse_recipe, read_recipe
from phasefit.recipes.settings import as_settings, merge_settings, parse_settings, setting_lines

VALUES = st.recursive(
    st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the first text takes a second
@given(st.dictionaries(st.sampled_from(["contrast.epochs", "long", "finetune.lrs.head"]), VALUES))
def test_lines_are_read_as_they_were(settings: dict[str, Any]) -> None:
    assert parse_settings(setting_lines(settings)) == settings


def test_tables_and_dotted_paths_are_the_same() -> None:
    nested = {
        "contrast": {"epochs": 4, "balance": {"mode": "none"}, "objective": {"name": "supcon"}},
        "long": "windows",
    }
    dotted = {
        "contrast.epochs": 4,
        "contrast.balance.mode": "none",
        "contrast.objective": {"name": "supcon"},
        "long": "windows",
    }
    assert as_settings(nested) == dotted == as_settings(dotted)
    assert read_recipe("three-phase", as_settings(nested)) == read_recipe("three-phase", dotted)


def test_the_last_value_is_used_and_comes_last() -> None:
    merged = merge_settings({"a.b": 1, "a.c": 2}, {"a.b": 3})
    assert [*merged.items()] == [("a.c", 2), ("a.b", 3)]


def test_numpy_numbers_become_python_numbers() -> None:
    plain = as_settings({"finetune.lr": np.float32(0.5), "finetune.views": (np.str_("a"), {"epsilon": np.int64(3)})})
    assert plain == {"finetune.lr": 0.5, "finetune.views": ["a", {"epsilon": 3}]}
    assert type(plain["finetune.lr"]) is float


@pytest.mark.parametrize("value", [None, object(), {"a": None}])
def test_values_that_no_recipe_can_have_are_refused(value: Any) -> None:
    with pytest.raises(RecipeError, match=r"settings: finetune\.epochs cannot be"):
        as_settings({"finetune.epochs": value})
    with pytest.raises(RecipeError, match="settings must be a dict"):
        as_settings(["finetune.epochs=4"])  # type: ignore[arg-type]


def test_settings_are_left_as_they_were() -> None:
    settings = {"contrast.objective": {"name": "supcon"}, "contrast.objective.temperature": 0.3}
    recipe = read_recipe("contrast-finetune", settings)
    assert recipe.phases[0].objective == {"name": "supcon", "temperature": 0.3}  # type: ignore[attr-defined]
    assert settings["contrast.objective"] == {"name": "supcon"}


def test_a_resolved_recipe_keeps_every_character() -> None:
    wild = '{text} "quoted" \\ and\na new line {mask}.'
    recipe = read_recipe("finetune", {"prompt": wild})
    assert recipe.prompt == wild
    assert parse_recipe(recipe.to_toml(), name="finetune", where="recipe.toml") == recipe
