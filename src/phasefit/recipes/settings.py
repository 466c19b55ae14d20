"""Settings: options that override a recipe, as `--set contrast.epochs=4` or `{"contrast.epochs": 4}`.

Settings are a mapping from dotted paths to values; only `parse_settings` handles the text of the command line.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, TypeAlias

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from phasefit.errors import RecipeError, did_you_mean
from phasefit.files.toml import toml_value
from phasefit.phases import PHASES
from phasefit.recipes.recipe_files import WHOLE

Settings: TypeAlias = Mapping[str, Any]

NONE: Settings = MappingProxyType({})
OBJECTIVE = "objective"
DEEPEST = 20  # levels of lists and tables in a value; a damaged file may have thousands


def parse_settings(lines: Iterable[str]) -> dict[str, Any]:
    """Parse settings of the command line; the last value of an option is used."""
    return merge_settings(*map(_parse, lines))


def as_settings(settings: Settings, prefix: str = "") -> dict[str, Any]:
    """Flatten settings from Python or a file to dotted paths; a table with a `name` is one value."""
    if not isinstance(settings, Mapping):
        raise RecipeError(f"settings must be a dict such as {{'finetune.epochs': 4}}, not {settings!r}")
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        path = prefix + _name(name)
        is_table = isinstance(value, Mapping) and "name" not in value and "." not in name
        flat = merge_settings(flat, as_settings(value, f"{path}.") if is_table else {path: _plain(path, value)})
    return flat


def merge_settings(*layers: Settings) -> dict[str, Any]:
    """Merge settings in order; a later value replaces an earlier one."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for path, value in layer.items():
            merged.pop(path, None)
            merged[path] = value
    return merged


def setting_line(path: str, value: Any) -> str:
    """A setting as written on the command line."""
    return f"{path}={value_text(value)}"


def setting_lines(settings: Settings) -> list[str]:
    """All settings as written on the command line."""
    return [setting_line(path, value) for path, value in settings.items()]


def value_text(value: Any) -> str:
    """A value as written on the command line: TOML, with strings unquoted where possible."""
    return value if isinstance(value, str) and parse_value(value) == value else toml_value(value)


def settings_key(settings: Settings) -> str:
    """A text that is equal for equal settings, independent of their order."""
    return json.dumps(settings, sort_keys=True)


def parse_value(text: str) -> Any:
    """Parse a TOML value; a bare word is a string, so that shells need no nested quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def apply_setting(content: dict[str, Any], names: Sequence[str], name: str, settings: Settings) -> None:
    """Apply the setting `name` to the parsed recipe, in place.

    `settings` are all settings: explicit epochs remove the recipe's `min_steps`, unless that is set too.
    """
    line, value, path = setting_line(name, settings[name]), deepcopy(settings[name]), name.split(".")
    if len(path) == 1 and path[0] in WHOLE:
        content[path[0]] = value
        return
    if path[0] not in names:
        known = [*names, *WHOLE]
        raise RecipeError(f"--set {line}: this recipe has no '{path[0]}'; {did_you_mean(path[0], known)}")
    if len(path) == 1 or path[1] == "kind":
        raise RecipeError(f"--set {line}: name an option of '{path[0]}', e.g. {path[0]}.epochs=4")
    table = content["phase"][names.index(path[0])]
    defaults = PHASES.get(str(table["kind"])).model_fields
    for part in path[1:-1]:
        if part == OBJECTIVE and path[-1] != "name":
            table[part] = _as_table(table.get(part, _default(defaults.get(part))))
        table = table.setdefault(part, {})
        defaults = getattr(type(_default(defaults.get(part))), "model_fields", {})
        if not isinstance(table, dict):
            raise RecipeError(f"--set {line}: '{part}' is not a table and has no options")
    table[path[-1]] = value
    if path[1:] == ["epochs"] and f"{path[0]}.min_steps" not in settings:
        table.pop("min_steps", None)


def _parse(line: str) -> dict[str, Any]:
    name, equals, value = line.partition("=")
    path = [part.strip() for part in name.split(".")]
    if not equals or not all(path):
        raise RecipeError(f"--set {line}: write it as phase.option=value, e.g. contrast.epochs=4")
    return {".".join(path): parse_value(value)}


def _plain(path: str, value: Any, depth: int = 0) -> Any:
    """A value in built-in Python types; NumPy scalars are converted."""
    if depth > DEEPEST:
        raise RecipeError(f"settings: {path} has more than {DEEPEST} levels; remove it")
    if isinstance(value, Mapping):
        return {_name(name): _plain(path, inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(path, inner, depth + 1) for inner in value]
    plain = value.item() if getattr(value, "ndim", None) == 0 else value
    if not isinstance(plain, str | int | float):
        raise RecipeError(f"settings: {path} cannot be {value!r}; use a string, number, list or dict, or remove it")
    return plain


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise RecipeError(f"settings: {name!r} is not the name of an option; names look like 'finetune.epochs'")
    return name


def _as_table(objective: Any) -> Any:
    """An objective as a table, so that an option can change while its name stays."""
    return {"name": objective} if isinstance(objective, str) else {} if objective is None else objective


def _default(field: FieldInfo | None) -> Any:
    default = None if field is None else field.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else default
