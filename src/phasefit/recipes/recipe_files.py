"""Recipe files: those of the package and of other packages, and their tables, after what they say about their base.

A recipe may state only its differences, so that a mended default is mended everywhere:

    base = "three-phase"          # a packaged recipe, or a file beside this one
    without = ["denoise"]         # phases to leave out, by name
    set.contrast.epochs = 8       # options to change, by phase name
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import PluginError, RecipeError, did_you_mean
from phasefit.phases import PHASES
from phasefit.recipes.recipe import phase_names
from phasefit.registry import Registry

WHOLE = ("max_length", "prompt", "long")  # what holds for the whole run
TOP = ("base", "without", "set", *WHOLE, "phase")

RECIPES: Registry[Path] = Registry(
    "source of recipes", "phasefit.recipes", base=Path, entries={"phasefit": Path(__file__).parent / "library"}
)  # each a folder of recipe files, or one file


@dataclass(frozen=True)
class RecipeInfo:
    """A recipe at a glance."""

    name: str
    title: str
    phases: list[str]
    path: Path


def list_recipes() -> list[RecipeInfo]:
    """All packaged recipes by name, then those of other packages."""
    return [_info(path) for path in _packaged().values()]


def recipe_path(name: str) -> Path:
    """A recipe file by its name in the library or its path."""
    path = Path(name).expanduser()
    if path.suffix == ".toml" or path.is_file():
        if not path.is_file():
            raise RecipeError(f"recipe '{name}': there is no such file; phasefit recipes lists the packaged ones")
        return path
    packaged = _packaged()
    if name not in packaged:
        for problem in RECIPES.loadable()[1].values():  # it may be one of those
            raise problem
        raise RecipeError(f"recipe '{name}' is neither packaged nor a file; {did_you_mean(name, packaged)}")
    return packaged[name]


def recipe_text(name: str) -> str:
    """The source of a recipe, comments and all."""
    try:
        return recipe_path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"recipe '{name}' cannot be read: {error}") from error


def _packaged() -> dict[str, Path]:
    """Every recipe that can be named, with its file; a source that cannot be loaded has none."""
    files: dict[str, Path] = {}
    for source in RECIPES.loadable()[0].values():
        for path in sorted(source.glob("*.toml")) if source.is_dir() else [source]:
            if path.stem in files:
                raise PluginError(f"two recipes have the name '{path.stem}': {files[path.stem]} and {path}; rename one")
            files[path.stem] = path
    return files


def _info(path: Path) -> RecipeInfo:
    text = path.read_text(encoding="utf-8")
    title = text.splitlines()[0].lstrip("# ").strip()
    return RecipeInfo(path.stem, title, names_of(parse_content(text, path.name)), path)


def parse_content(text: str, where: str, beside: Path | None = None, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """`max_length`, `prompt` and `phase` of a recipe, its base worked in; `beside` is the folder of its file."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{where}: not valid TOML: {error}") from error
    for key in content:
        if key not in TOP:
            raise RecipeError(f"{where}: unknown option '{key}'; {did_you_mean(key, TOP)}")
    if "base" in content:
        content = _on_base(content, where, beside, seen)
    elif "without" in content or "set" in content:
        raise RecipeError(f"{where}: 'without' and 'set' change a base; say base = 'three-phase' or another recipe")
    phases = content.get("phase")
    if not isinstance(phases, list) or not phases or not all(isinstance(phase, dict) for phase in phases):
        raise RecipeError(f"{where}: a recipe needs at least one [[phase]] table")
    for index, phase in enumerate(phases, start=1):
        check_kind(phase, f"{where}, phase {index}")
    return content


def check_kind(phase: dict[str, Any], where: str) -> None:
    """Every phase says which kind it is."""
    kind = phase.get("kind")
    if kind is None:
        raise RecipeError(f"{where}: 'kind' is missing; it is one of {', '.join(PHASES)}")
    if kind not in PHASES:
        raise RecipeError(f"{where}: unknown kind '{kind}'; {did_you_mean(str(kind), PHASES)}")


def names_of(content: dict[str, Any]) -> list[str]:
    """The phases' names."""
    return phase_names([str(phase["kind"]) for phase in content["phase"]])


def _on_base(content: dict[str, Any], where: str, beside: Path | None, seen: tuple[str, ...]) -> dict[str, Any]:
    if "phase" in content:
        raise RecipeError(f"{where}: a recipe has phases of its own or a base, not both")
    name, without, changes = content["base"], content.get("without", []), content.get("set", {})
    if not isinstance(name, str) or not isinstance(without, list) or not isinstance(changes, dict):
        raise RecipeError(f"{where}: base is a recipe's name, without a list of phases, set a table of options")
    if beside is not None and (beside / name).is_file():
        name = str(beside / name)
    if name in seen:
        raise RecipeError(f"{where}: the recipe is its own base: {' -> '.join((*seen, name))}")
    try:
        path = recipe_path(name)
    except RecipeError as error:
        raise RecipeError(f"{where}: base: {error}") from error
    base = parse_content(recipe_text(name), path.name, path.parent, (*seen, name))
    names = names_of(base)
    for dropped in without:
        if dropped not in names:
            raise RecipeError(
                f"{where}: without: the base has no phase '{dropped}'; {did_you_mean(str(dropped), names)}"
            )
    for changed, options in changes.items():
        if changed not in names or not isinstance(options, dict):
            raise RecipeError(f"{where}: set: the base has no phase '{changed}'; {did_you_mean(changed, names)}")
        phase = base["phase"][names.index(changed)]
        if "epochs" in options and "min_steps" not in options:
            phase.pop("min_steps", None)  # as for --set: the epochs are meant
        _merge(phase, options)
    kept = [phase for name, phase in zip(names, base["phase"], strict=True) if name not in without]
    whole = {key: source[key] for source in (base, content) for key in WHOLE if key in source}
    return {**whole, "phase": kept}


def _merge(table: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(table.get(name), dict):
            _merge(table[name], value)
        else:
            table[name] = value
