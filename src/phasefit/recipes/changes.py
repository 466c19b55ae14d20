"""Changes to the phases of a recipe: those of a recipe that has a base, and those of an effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from phasefit.errors import RecipeError, did_you_mean
from phasefit.recipes.recipe import phase_names


def changed_phases(
    base: Sequence[dict[str, Any]], without: Sequence[Any], changes: Mapping[str, Any], where: str
) -> list[dict[str, Any]]:
    """Copies of the phases, without some of them and with other options, both given by the names of phases."""
    names = phase_names([str(phase["kind"]) for phase in base])
    for dropped in without:
        if dropped not in names:
            raise RecipeError(f"{where}: without: there is no phase '{dropped}'; {did_you_mean(str(dropped), names)}")
    phases = deepcopy(list(base))
    for changed, options in changes.items():
        if changed not in names or not isinstance(options, dict):
            raise RecipeError(f"{where}: set: there is no phase '{changed}'; {did_you_mean(changed, names)}")
        phase = phases[names.index(changed)]
        if "epochs" in options and "min_steps" not in options:
            phase.pop("min_steps", None)  # as with --set: explicit epochs override the minimum of the base
        _merge(phase, options)
    return [phase for name, phase in zip(names, phases, strict=True) if name not in without]


def _merge(table: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(table.get(name), dict):
            _merge(table[name], value)
        else:
            table[name] = value
