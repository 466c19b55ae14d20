"""`recipe="auto"` in Python: try several recipes, then train the best."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import RecipeError
from phasefit.events import Note
from phasefit.runs.specification import AUTO, AUTO_MINUTES, RunSpec

if TYPE_CHECKING:
    from phasefit.events import Listener


def check_minutes(recipe: str, minutes: float | None) -> float:
    """The time limit; raise if it is none, or if the recipe is not chosen by trials."""
    if minutes is not None and recipe != AUTO:
        raise RecipeError('minutes is only for recipe="auto"; remove it, or use recipe="auto"')
    limit = AUTO_MINUTES if minutes is None else minutes
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        raise RecipeError(f"minutes must be a number above 0, not {minutes!r}")
    return float(limit)


def choose_spec(
    spec: RunSpec, minutes: float | None, listen: Listener, *, keep: bool = False
) -> tuple[RunSpec, dict[str, str]]:
    """The run with the chosen recipe, and the trials as files: auto.json and auto.md.

    With `keep`, the trials stay in the folder of studies, where a repeated call finds them; otherwise they are deleted.
    """
    from phasefit.studies.auto.report import as_json, as_markdown, conclusion
    from phasefit.studies.auto.run_auto import choose_recipe, final_spec

    limit = check_minutes(spec.recipe.name, minutes)

    def note(event: Any) -> None:
        listen(Note(event.text))

    if keep:
        result = choose_recipe(spec, limit, note)
    else:
        with tempfile.TemporaryDirectory(prefix="phasefit-auto-") as folder:
            result = choose_recipe(spec, limit, note, out=Path(folder) / "auto")
    listen(Note(conclusion(result)))
    return final_spec(spec, result), {"auto.json": as_json(result), "auto.md": as_markdown(result, spec.output.command)}


def trials_of(files: dict[str, str]) -> dict[str, Any]:
    """The content of auto.json."""
    content: dict[str, Any] = json.loads(files["auto.json"])
    return content
