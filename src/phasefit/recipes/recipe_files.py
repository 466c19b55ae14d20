"""Recipe files of this package and of other packages, and their content after applying the base.

A recipe may contain only its differences from a base, so that a default has to be fixed in one place only:

    base = "three-phase"          # a packaged recipe, or a file in the same folder
    without = ["denoise"]         # phases to drop, by name
    set.contrast.epochs = 8       # options to change, by phase name

Instead of phases, a recipe may name a baseline that is fitted on the training rows: `baseline = "tfidf"`.
For `effort`, see `efforts.py`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import PluginError, RecipeError, did_you_mean
from phasefit.files.names import exists, path_named
from phasefit.phases import PHASES
from phasefit.recipes.changes import changed_phases
from phasefit.recipes.recipe import FROZEN, TFIDF, phase_names
from phasefit.registry import Registry

WHOLE = ("max_length", "prompt", "long")  # options of the whole run
TOP = ("base", "without", "set", *WHOLE, "phase", "baseline", "effort")
BASELINE_TEXTS = {  # recipes that train nothing, listed with the baselines
    TFIDF: f"""# Words and bigrams (TF-IDF) with logistic regression: no encoder, trained in seconds
#   phasefit train reviews.csv --recipe {TFIDF}
baseline = "{TFIDF}"
""",
    FROZEN: f"""# The encoder as it is, with logistic regression on its vectors: trained in seconds
#   phasefit train reviews.csv --recipe {FROZEN}
baseline = "{FROZEN}"
""",
}

RECIPES: Registry[Path] = Registry(
    "source of recipes", "phasefit.recipes", base=Path, entries={"phasefit": Path(__file__).parent / "library"}
)  # each a folder of recipe files, or one file


@dataclass(frozen=True)
class RecipeInfo:
    """Name, title, phases and file of a recipe."""

    name: str
    title: str
    phases: list[str]
    path: Path


def list_recipes() -> list[RecipeInfo]:
    """All packaged recipes by name, then those of other packages."""
    return [_info(path) for path in _packaged().values()]


def recipe_path(name: str) -> Path:
    """The file of a recipe, given its name or its path."""
    path = path_named(name)
    is_file = exists(path) and path.is_file()
    if path.suffix == ".toml" or is_file:
        if not is_file:
            raise RecipeError(f"recipe '{name}': there is no such file; 'phasefit recipes' lists the packaged recipes")
        return path
    packaged = _packaged()
    if name not in packaged:
        for problem in RECIPES.loadable()[1].values():  # it may be in a source that cannot be loaded
            raise problem
        raise RecipeError(f"recipe '{name}' is neither packaged nor a file; {did_you_mean(name, packaged)}")
    return packaged[name]


def recipe_text(name: str) -> str:
    """The text of a recipe file, with its comments."""
    if is_baseline_recipe(name):
        return BASELINE_TEXTS[name]
    try:
        return recipe_path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"recipe '{name}' cannot be read: {error}") from error


def is_baseline_recipe(name: str) -> bool:
    """Whether this names a baseline that a run can train, and not a file with that name."""
    return name in BASELINE_TEXTS and not Path(name).is_file()


def _packaged() -> dict[str, Path]:
    """The files of all recipes by name; sources that cannot be loaded are skipped."""
    files: dict[str, Path] = {}
    for source in RECIPES.loadable()[0].values():
        for path in sorted(source.glob("*.toml"), key=lambda path: path.stem) if source.is_dir() else [source]:
            if path.stem in files:
                raise PluginError(f"two recipes have the name '{path.stem}': {files[path.stem]} and {path}; rename one")
            files[path.stem] = path
    return files


def _info(path: Path) -> RecipeInfo:
    text = path.read_text(encoding="utf-8")
    title = text.splitlines()[0].lstrip("# ").strip()
    return RecipeInfo(path.stem, title, names_of(parse_content(text, path.name)), path)


def parse_content(text: str, where: str, folder: Path | None = None, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Parse a recipe and apply it to its base; `folder` is the folder of its file.

    Efforts of the base are not kept: they are differences from other phases.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{where}: not valid TOML: {error}") from error
    for key in content:
        if key not in TOP:
            raise RecipeError(f"{where}: unknown option '{key}'; {did_you_mean(key, TOP)}")
    if "base" in content and "baseline" not in content:
        content = _on_base(content, where, folder, seen)
    elif "base" not in content and ("without" in content or "set" in content):
        raise RecipeError(f"{where}: 'without' and 'set' need a base; add base = 'three-phase' or another recipe")
    if "baseline" in content:
        return _with_baseline(content, where)
    phases = content.get("phase")
    if not isinstance(phases, list) or not phases or not all(isinstance(phase, dict) for phase in phases):
        raise RecipeError(f"{where}: a recipe needs at least one [[phase]] table")
    for index, phase in enumerate(phases, start=1):
        check_kind(phase, f"{where}, phase {index}")
    return content


def _with_baseline(content: dict[str, Any], where: str) -> dict[str, Any]:
    name, others = content["baseline"], [key for key in ("phase", "base") if key in content]
    if name not in BASELINE_TEXTS:
        near = did_you_mean(str(name)[:80], BASELINE_TEXTS)
        raise RecipeError(f"{where}: a recipe cannot train the baseline '{str(name)[:80]}'; {near}")
    if others:
        raise RecipeError(f"{where}: a recipe has either a baseline or '{others[0]}', not both")
    return {**content, "phase": []}


def check_kind(phase: dict[str, Any], where: str) -> None:
    """Raise if the kind of a phase is missing or unknown."""
    kind = phase.get("kind")
    if kind is None:
        raise RecipeError(f"{where}: 'kind' is missing; use one of {', '.join(PHASES)}")
    if not isinstance(kind, str) or kind not in PHASES:
        raise RecipeError(f"{where}: unknown kind '{str(kind)[:80]}'; {did_you_mean(str(kind), PHASES)}")


def names_of(content: dict[str, Any]) -> list[str]:
    """The names of the phases."""
    return phase_names([str(phase["kind"]) for phase in content["phase"]])


def _on_base(content: dict[str, Any], where: str, folder: Path | None, seen: tuple[str, ...]) -> dict[str, Any]:
    if "phase" in content:
        raise RecipeError(f"{where}: a recipe has either [[phase]] tables or a base, not both")
    name, without, changes = content["base"], content.get("without", []), content.get("set", {})
    if not isinstance(name, str) or not isinstance(without, list) or not isinstance(changes, dict):
        raise RecipeError(
            f"{where}: 'base' must be the name of a recipe, 'without' a list of phases and 'set' a table of options"
        )
    if folder is not None and exists(folder / name) and (folder / name).is_file():
        name = str(folder / name)
    if name in seen:
        raise RecipeError(f"{where}: the recipe is its own base: {' -> '.join((*seen, name))}")
    try:
        path = recipe_path(name)
    except RecipeError as error:
        raise RecipeError(f"{where}: base: {error}") from error
    base = parse_content(recipe_text(name), path.name, path.parent, (*seen, name))
    kept = changed_phases(base["phase"], without, changes, where)
    whole = {key: source[key] for source in (base, content) for key in WHOLE if key in source}
    efforts = {"effort": content["effort"]} if "effort" in content else {}
    return {**whole, **efforts, "phase": kept}
