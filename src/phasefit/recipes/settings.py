"""`--set contrast.epochs=4`: single options changed on top of a recipe."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from phasefit.errors import RecipeError, did_you_mean
from phasefit.phases import options_of
from phasefit.recipes.content import WHOLE

OBJECTIVE = "objective"


def apply_setting(content: dict[str, Any], names: Sequence[str], setting: str, settings: Sequence[str]) -> None:
    """Change the parsed recipe in place; phases go by name, what holds for the whole run by its own name.

    `settings` are all that were given: who says how many epochs means it, unless min_steps is said too.
    """
    key, equals, value = setting.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path):
        raise RecipeError(f"--set {setting}: write it as phase.option=value, e.g. contrast.epochs=4")
    if len(path) == 1 and path[0] in WHOLE:
        content[path[0]] = _value(value)
        return
    if path[0] not in names:
        known = [*names, *WHOLE]
        raise RecipeError(f"--set {setting}: this recipe has no '{path[0]}'; {did_you_mean(path[0], known)}")
    if len(path) == 1 or path[1] == "kind":
        raise RecipeError(f"--set {setting}: name an option of '{path[0]}', e.g. {path[0]}.epochs=4")
    table = content["phase"][names.index(path[0])]
    defaults = options_of(str(table["kind"])).model_fields
    for part in path[1:-1]:
        if part == OBJECTIVE and path[-1] != "name":
            table[part] = _spelled_out(table.get(part, _default(defaults.get(part))))
        table = table.setdefault(part, {})
        defaults = getattr(type(_default(defaults.get(part))), "model_fields", {})
        if not isinstance(table, dict):
            raise RecipeError(f"--set {setting}: '{part}' has no options of its own")
    table[path[-1]] = _value(value)
    if path[1:] == ["epochs"] and not any(other.startswith(f"{path[0]}.min_steps=") for other in settings):
        table.pop("min_steps", None)


def _spelled_out(objective: Any) -> Any:
    """An objective as a table, so that one of its options can change and its name stays."""
    return {"name": objective} if isinstance(objective, str) else {} if objective is None else objective


def _default(field: FieldInfo | None) -> Any:
    default = None if field is None else field.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else default


def _value(text: str) -> Any:
    """A TOML value; a bare word is a string, so that quotes need no quoting."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
