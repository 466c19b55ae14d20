"""Less or more effort: what each of five levels changes in a recipe; level 3 is the recipe as it is.

A recipe lists the changes of a level in a table such as [effort.1] with `without` and `set`, as a recipe with a base.
"""

from __future__ import annotations

from typing import Any

from phasefit.effort_levels import EFFORTS, USUAL_EFFORT
from phasefit.errors import RecipeError
from phasefit.recipes.changes import changed_phases


def with_effort(content: dict[str, Any], effort: int, where: str) -> dict[str, Any]:
    """The content of a recipe at this effort; refused if the recipe has no such effort."""
    efforts = content.get("effort", {})
    listed = isinstance(efforts, dict) and all(key.isdecimal() and int(key) in EFFORTS for key in efforts)
    if not listed or str(USUAL_EFFORT) in efforts:
        raise RecipeError(
            f"{where}: 'effort' must be tables from 1 to {EFFORTS[-1]}, without {USUAL_EFFORT}, which is the recipe "
            "itself; e.g. [effort.5.set.finetune]"
        )
    if effort == USUAL_EFFORT:
        return content
    if str(effort) not in efforts:
        raise RecipeError(
            f"{where}: the recipe has no effort {effort}; remove --effort and set options such as epochs, or use a "
            "recipe with efforts: label-names, few-shot or one-phase"
        )
    chosen = efforts[str(effort)]
    without, changes = (chosen.get("without", []), chosen.get("set", {})) if isinstance(chosen, dict) else (None, None)
    if not isinstance(without, list) or not isinstance(changes, dict) or chosen.keys() - {"without", "set"}:
        raise RecipeError(f"{where}: effort.{effort} may only have 'without', a list of phases, and 'set', a table")
    return {**content, "phase": changed_phases(content["phase"], without, changes, f"{where}, effort {effort}")}
