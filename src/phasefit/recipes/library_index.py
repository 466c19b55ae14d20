"""The recipes that come with the package, and those of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from phasefit.errors import PluginError, RecipeError, did_you_mean
from phasefit.recipes.content import names_of, parse_content
from phasefit.registry import Registry

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
        raise RecipeError(f"recipe '{name}' is neither packaged nor a file; {did_you_mean(name, packaged)}")
    return packaged[name]


def recipe_text(name: str) -> str:
    """The source of a recipe, comments and all."""
    try:
        return recipe_path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"recipe '{name}' cannot be read: {error}") from error


def _packaged() -> dict[str, Path]:
    """Every recipe that can be named, with its file."""
    files: dict[str, Path] = {}
    for source in RECIPES.values():
        for path in sorted(source.glob("*.toml")) if source.is_dir() else [source]:
            if path.stem in files:
                raise PluginError(f"two recipes have the name '{path.stem}': {files[path.stem]} and {path}; rename one")
            files[path.stem] = path
    return files


def _info(path: Path) -> RecipeInfo:
    text = path.read_text(encoding="utf-8")
    title = text.splitlines()[0].lstrip("# ").strip()
    return RecipeInfo(path.stem, title, names_of(parse_content(text, path.name)), path)
