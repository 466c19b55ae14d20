"""The page about objectives, views and phases without labels names all there is, with its options."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from phasefit.models.views import VIEWS
from phasefit.objectives import OBJECTIVES
from phasefit.recipes import list_recipes

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "objectives.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUCH_POINTS = (
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Touch points")[2].partition("\n## ")[0]
)
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `([\w-]+)`.*$", PAGE, flags=re.M)}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_stands_there_as_it_is(name: str) -> None:
    kind = OBJECTIVES[name]
    row = ROWS[name]
    if name != "multiple-negatives":  # "the same"
        assert all(f"`{field.name}`" in row for field in fields(kind))
    assert ("| yes |" in row) == kind.graded
    for fed, word in (("labelled", "labels"), ("pairs", "pairs"), ("views", "views"), ("tokens", "tokens")):
        assert (word in row.split("|")[4]) == (fed in kind.inputs), fed


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_stands_there_as_it_is(name: str) -> None:
    assert all(f"`{field.name}`" in ROWS[name] for field in fields(VIEWS[name]))


@pytest.mark.parametrize("info", list_recipes(), ids=lambda info: info.name)
def test_every_recipe_is_told_of(info) -> None:
    assert f"`{info.name}`" in README + PAGE


@pytest.mark.parametrize("place", sorted({*re.findall(r"`([a-z_]+/[\w/.]*)`", TOUCH_POINTS)}))
def test_a_touch_point_is_where_it_is_said_to_be(place: str) -> None:
    within = ROOT if place.startswith(("docs/", "tests/")) else ROOT / "src" / "phasefit"
    assert (within / place).is_dir() if place.endswith("/") else (within / place).is_file()
