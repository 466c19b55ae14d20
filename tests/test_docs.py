"""The docs pages are complete and correct: objectives, views, recipes, options, links, imports and touch points."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from phasefit.cli.app import app
from phasefit.models.views import VIEWS
from phasefit.objectives import OBJECTIVES
from phasefit.recipes import list_recipes

ROOT = Path(__file__).parent.parent
FILES = (*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")), *ROOT.glob("docs/*.md"))
PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}
TOUCH_POINTS = PAGES["CONTRIBUTING.md"].partition("## Touch points")[2].partition("\n## ")[0]
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `([\w-]+)`.*$", PAGES["docs/objectives.md"], flags=re.M)}
PLUGINS = "docs/plugins.md"  # its commands and imports are tested in test_plugins.py


def commands(page: str) -> list[list[str]]:
    """The phasefit commands in the console blocks of a page."""
    lines = "".join(re.findall(r"```console\n(.*?)```", PAGES[page], flags=re.S)).splitlines()
    words = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if line.startswith("$ phasefit")]
    return [command[1:] for command in words]


def options(command: str, *subcommands: str) -> set[str]:
    """The options of a command, or of the subcommand that follows it."""
    selected = typer.main.get_command(app).commands[command]
    for name in subcommands:
        selected = getattr(selected, "commands", {}).get(name, selected)
    return {option for parameter in selected.params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_row_of_an_objective_is_correct(name: str) -> None:
    kind = OBJECTIVES[name]
    row = ROWS[name]
    if name != "multiple-negatives":  # "the same"
        assert all(f"`{field.name}`" in row for field in fields(kind))
    assert ("| yes |" in row) == kind.graded
    for given, word in (("labelled", "labels"), ("pairs", "pairs"), ("views", "views"), ("tokens", "tokens")):
        assert (word in row.split("|")[4]) == (given in kind.inputs), given


@pytest.mark.parametrize("name", VIEWS)
def test_the_row_of_a_view_is_correct(name: str) -> None:
    assert all(f"`{field.name}`" in ROWS[name] for field in fields(VIEWS[name]))


@pytest.mark.parametrize("info", list_recipes(), ids=lambda info: info.name)
def test_every_recipe_is_listed(info) -> None:
    table = PAGES["docs/recipes.md"].partition("## Packaged recipes")[2].partition("\n## ")[0]
    assert f"`{info.name}`" in table


def test_every_option_of_train_is_listed() -> None:
    table = PAGES["docs/training.md"].partition("## Options")[2].partition("\n## ")[0]
    listed = set(re.findall(r"(?<![\w-])--[a-z-]+", table))
    assert listed == {option for option in options("train") if option.startswith("--")}


@pytest.mark.parametrize("page", [page for page in PAGES if page != PLUGINS])
def test_commands_use_options_that_exist(page: str) -> None:
    for command in commands(page):
        given = {word.partition("=")[0] for word in command if re.match(r"--?[a-z]", word)}
        assert given <= options(*command[:2]), command


@pytest.mark.parametrize("page", [page for page in PAGES if page != PLUGINS])
def test_pages_import_from_phasefit_only(page: str) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGES[page], flags=re.S):
        nodes = list(ast.walk(ast.parse(code)))
        modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        assert not {module for module in modules if module and module.startswith("phasefit.")}


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_installed_from_an_index_that_does_not_have_it(page: str) -> None:
    assert not re.findall(r"pip install [^\n`]*\bphasefit.*", PAGES[page]), "install from a checkout: '.[extra]'"


@pytest.mark.parametrize(
    ("page", "link"), [(page, link) for page, text in PAGES.items() for link in re.findall(r"\]\(([^)#\s]+)\)", text)]
)
def test_links_lead_somewhere(page: str, link: str) -> None:
    assert link.startswith("http") or (ROOT / page).parent.joinpath(link).is_file()


@pytest.mark.parametrize("place", sorted({*re.findall(r"`([a-z_]+/[\w/.]*)`", TOUCH_POINTS)}))
def test_a_touch_point_exists(place: str) -> None:
    within = ROOT if place.startswith(("docs/", "tests/")) else ROOT / "src" / "phasefit"
    assert (within / place).is_dir() if place.endswith("/") else (within / place).is_file()
