"""Named things, and those of installed packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from phasefit import registry
from phasefit.errors import DataError, RecipeError
from phasefit.registry import Registry


@pytest.fixture
def colours(monkeypatch):
    points = {"blue": "colorsys:ONE_THIRD", "broken": "no_such_module:x", "red": "colorsys:ONE_SIXTH"}
    asked = []

    def installed(group):
        asked.append(group)
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(registry, "entry_points", installed)
    colours = Registry[float]("colour", "tests.colours")
    colours.add("red", 7.0)
    yield colours
    assert asked in ([], ["tests.colours"])  # read once, and only when needed


def test_items_keep_their_order_and_installed_ones_follow(colours):
    colours.add("green", 2.0)
    assert list(colours) == ["red", "green", "blue", "broken"]
    assert len(colours) == 4
    assert "blue" in colours
    assert "white" not in colours


def test_an_entry_point_is_imported_when_it_is_asked_for(colours):
    assert colours["blue"] == pytest.approx(1 / 3)
    assert colours["red"] == 7.0  # what was added counts


def test_an_unknown_name_gets_the_nearest_one(colours):
    with pytest.raises(RecipeError, match="unknown colour 'bleu'; did you mean 'blue'"):
        colours["bleu"]


def test_a_plugin_that_fails_is_named(colours):
    with pytest.raises(RecipeError, match=r"the colour 'broken' of no_such_module:x cannot be loaded: No module"):
        colours["broken"]


def test_a_name_is_taken_once_and_can_be_given_back(colours):
    with pytest.raises(RecipeError, match="already a colour named 'red'"):
        colours.add("red", 1.0)
    colours.remove("red")
    assert colours.add("red", 1.0) == colours["red"] == 1.0


def test_the_error_is_the_registrys_own():
    with pytest.raises(DataError, match="unknown shape 'x'"):
        Registry[int]("shape", "tests.shapes", DataError)["x"]


def test_values_are_all_items():
    shapes = Registry[int]("shape", "tests.shapes")
    shapes.add("square", 4)
    shapes.add("line", 1)
    assert shapes.values() == [4, 1]
