"""Strict parsing of spaces, from TOML files and from `--try finetune.lr=1e-5..1e-3`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from phasefit.errors import RecipeError, did_you_mean
from phasefit.recipes import Recipe
from phasefit.recipes.listing import as_written
from phasefit.recipes.recipe_files import WHOLE
from phasefit.studies.search.space import RANGE, Choices, Dimension, Range, Space, value_of

ANY, OPTIONAL, RECIPE = "any", "optional", "recipe"
DEFAULT = "default"
DECADE = 10  # a range that spans this factor is searched on a log scale


@dataclass(frozen=True)
class SpaceInfo:
    """Name, title and recipe of a packaged space."""

    name: str
    title: str
    recipe: str | None  # the recipe that it was made for


def list_spaces() -> list[SpaceInfo]:
    """All packaged spaces by name."""
    spaces = []
    for path in sorted(_folder().glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("# ").strip()
        spaces.append(SpaceInfo(path.stem, title, tomllib.loads(text).get(RECIPE)))
    return spaces


def read_space(name: str, recipe: Recipe) -> Space:
    """The space of a packaged name or a file, for this recipe."""
    path = _path(name)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"space '{name}' cannot be read: {error}") from error
    content.pop(RECIPE, None)
    optional = content.pop(OPTIONAL, False)
    if not isinstance(optional, bool):
        raise RecipeError(f"space '{name}': optional must be true or false")
    return Space(path.stem, dict(_dimensions(content, recipe, f"space '{path.stem}'", optional=optional)))


def parse_tries(texts: Sequence[str], recipe: Recipe) -> dict[str, Dimension]:
    """Dimensions given with --try: `a.b=1,2,3` are choices, `a.b=1e-5..1e-3` is a range."""
    dimensions: dict[str, Dimension] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        where = f"--try {text}"
        if not equals or not name or not values:
            raise RecipeError(f"{where}: write it as phase.option=A,B,C or phase.option=LOW..HIGH")
        low, dots, high = values.partition("..")
        given: Any = [part.strip() for part in values.split(",") if part.strip()]
        if dots:
            given = {"low": _number(low, where), "high": _number(high, where)}
        dimensions |= dict(_dimensions(_nested(name, given), recipe, where, optional=False))
    return dimensions


def _dimensions(
    content: Mapping[str, Any], recipe: Recipe, where: str, *, optional: bool
) -> Iterator[tuple[str, Dimension]]:
    names = recipe.phase_names
    for key, value in content.items():
        if key in WHOLE:
            yield key, _dimension(value, None, f"{where}, {key}")
        elif not isinstance(value, Mapping):
            raise RecipeError(f"{where}: '{key}' is not a phase; {did_you_mean(key, [*names, ANY, *WHOLE])}")
        elif key == ANY:
            for phase in names:
                yield from _of_phase(phase, value, recipe, where, optional=True)
        elif key in names:
            yield from _of_phase(key, value, recipe, where, optional=optional)
        elif not optional:
            raise RecipeError(f"{where}: {recipe.name} has no phase '{key}'; {did_you_mean(key, names)}")


def _of_phase(
    phase: str, options: Mapping[str, Any], recipe: Recipe, where: str, *, optional: bool
) -> Iterator[tuple[str, Dimension]]:
    for name, value in _flat(options):
        full = f"{phase}.{name}"
        own = value_of(recipe, full)
        if own is None and optional:
            continue
        yield full, _dimension(value, own, f"{where}, {full}")


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables by dotted name (`objective.gamma`); a table with low and high, or around, is a range."""
    for name, value in options.items():
        if isinstance(value, Mapping) and not ({"low", "high", "around"} & {*value}):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _dimension(value: Any, own: Any, where: str) -> Dimension:
    if isinstance(value, list):
        if not value:
            raise RecipeError(f"{where}: the list is empty; give at least one value")
        return Choices(tuple(dict.fromkeys(as_written(one) for one in value)))
    if not isinstance(value, Mapping):
        raise RecipeError(f"{where}: give a list of values or {{ low = ..., high = ... }}, not {value!r}")
    for key in value:
        if key not in RANGE:
            raise RecipeError(f"{where}: unknown key '{key}'; {did_you_mean(key, RANGE)}")
    return _around(value, own, where) if "around" in value else _range(value, where)


def _around(value: Mapping[str, Any], own: Any, where: str) -> Range:
    factor = value["around"]
    if not _is_number(factor) or factor <= 1 or len(value) > 1:
        raise RecipeError(f"{where}: around must be a number above 1, without other keys")
    if not _is_number(own) or own <= 0:
        raise RecipeError(f"{where}: around needs a positive number in the recipe, not {own!r}; give low and high")
    if isinstance(own, int):
        return Range(max(round(own / factor), 1), round(own * factor), log=True, whole=True)
    return Range(own / factor, own * factor, log=True)


def _range(value: Mapping[str, Any], where: str) -> Range:
    low: Any = value.get("low")
    high: Any = value.get("high")
    step: Any = value.get("step")
    if not _is_number(low) or not _is_number(high) or low >= high:
        raise RecipeError(f"{where}: low and high must be numbers, with low below high")
    if step is not None and (not _is_number(step) or step <= 0):
        raise RecipeError(f"{where}: step must be a number above 0")
    log = value.get("log", step is None and low > 0 and high >= DECADE * low)
    if log and (low <= 0 or step is not None):
        raise RecipeError(f"{where}: log = true needs low above 0 and no step")
    whole = isinstance(low, int) and isinstance(high, int) and (step is None or isinstance(step, int))
    return Range(low, high, bool(log), step, whole)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(text: str, where: str) -> int | float:
    try:
        return int(text) if text.strip().lstrip("-").isdecimal() else float(text)
    except ValueError:
        raise RecipeError(f"{where}: '{text}' is not a number; write a range as LOW..HIGH") from None


def _nested(name: str, value: Any) -> dict[str, Any]:
    head, dot, rest = name.partition(".")
    return {head: _nested(rest, value) if dot else value}


def _path(name: str) -> Path:
    given = Path(name).expanduser()
    if given.suffix == ".toml":
        if not given.is_file():
            raise RecipeError(f"space '{name}': no such file; give a TOML file or a packaged space: {_names()}")
        return given
    path = _folder() / f"{name}.toml"
    if not path.is_file():
        known = [info.name for info in list_spaces()]
        raise RecipeError(f"space '{name}' is neither a packaged space nor a TOML file; {did_you_mean(name, known)}")
    return path


def _names() -> str:
    return ", ".join(info.name for info in list_spaces())


def _folder() -> Path:
    return Path(str(files("phasefit.studies.search") / "spaces"))
