"""`--epochs`, `--lr` and `--batch-size`: settings of the phase that most people mean. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phasefit.errors import RecipeError
from phasefit.runs.specification import AUTO, DEFAULT_RECIPE

SHORT = ("epochs", "lr", "batch_size")
HEAD, TASKS = "finetune", "multitask"  # the last phase of the recipes that are chosen for the data


def short_settings(params: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the short options mean: of the phase that trains the head, or of the only phase.

    `settings` are those of --set, which must not contradict them.
    """
    given = {name: _plain(params[name]) for name in SHORT if params.get(name) is not None}
    if not given:
        return {}
    phase = _phase(str(params.get("recipe") or DEFAULT_RECIPE), params.get("data"), given)
    for name in given:
        if f"{phase}.{name}" in settings:
            raise RecipeError(f"{_option(name)} and --set {phase}.{name} set the same option; remove one of them")
    return {f"{phase}.{name}": value for name, value in given.items()}


def _phase(recipe: str, data: Any, given: Mapping[str, Any]) -> str:
    """The name of the phase."""
    from phasefit.data.task_file import is_task_file
    from phasefit.recipes import read_recipe
    from phasefit.recipes.settings import setting_line

    if recipe in (AUTO, DEFAULT_RECIPE):
        return TASKS if is_task_file(data) else HEAD
    read = read_recipe(recipe)
    names = read.phase_names
    heads = [name for name, options in zip(names, read.phases, strict=True) if options.trains_head]
    meant = heads or names
    if not meant:
        raise RecipeError(
            f"recipe '{read.name}' has no phases, so {_option(next(iter(given)))} does not apply; remove it"
        )
    if len(meant) == 1:
        return meant[0]
    first = next(iter(given))
    lines = " or ".join(f"--set {setting_line(f'{name}.{first}', given[first])}" for name in meant)
    raise RecipeError(f"{_option(first)} could mean several phases of recipe '{read.name}'; use {lines}")


def _plain(value: float) -> float:
    """3 instead of 3.0, as people write it."""
    return int(value) if float(value).is_integer() else value


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
