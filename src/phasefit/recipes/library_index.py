"""The recipes that come with the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from phasefit.errors import RecipeError, did_you_mean
from phasefit.recipes.content import names_of, parse_content


@dataclass(frozen=True)
class RecipeInfo:
    """A recipe at a glance."""

    name: str
    title: str
    phases: list[str]
    path: Path


def list_recipes() -> list[RecipeInfo]:
    """All packaged recipes by name."""
    return [_info(path) for path in sorted(_folder().glob("*.toml"))]


def recipe_path(name: str) -> Path:
    """A recipe file by its name in the library or its path."""
    given = Path(name).expanduser()
    if given.suffix == ".toml" or given.is_file():
        if not given.is_file():
            raise RecipeError(f"recipe '{name}': there is no such file; phasefit recipes lists the packaged ones")
        return given
    packaged = _folder() / f"{name}.toml"
    if not packaged.is_file():
        known = [path.stem for path in _folder().glob("*.toml")]
        raise RecipeError(f"recipe '{name}' is neither packaged nor a file; {did_you_mean(name, known)}")
    return packaged


def recipe_text(name: str) -> str:
    """The source of a recipe, comments and all."""
    try:
        return recipe_path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"recipe '{name}' cannot be read: {error}") from error


def _folder() -> Path:
    return Path(str(files("phasefit.recipes") / "library"))


def _info(path: Path) -> RecipeInfo:
    text = path.read_text(encoding="utf-8")
    title = text.splitlines()[0].lstrip("# ").strip()
    return RecipeInfo(path.stem, title, names_of(parse_content(text, path.name)), path)
