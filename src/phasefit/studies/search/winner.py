"""The best settings as a recipe file that says where it comes from."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phasefit.errors import RecipeError
from phasefit.recipes import list_recipes, parse_recipe, read_recipe
from phasefit.recipes.content import WHOLE

SEAL = re.compile(r"^# question (\w+), checksum (\w+): .*\n", re.MULTILINE)


def recipe_file(recipe: str, settings: Sequence[str], header: Sequence[str]) -> str:
    """A TOML with its differences to a packaged recipe; with every option where it is based on a file or they cannot
    be told as differences."""
    wanted = read_recipe(recipe, settings)
    lines = "".join(f"# {line}".rstrip() + "\n" for line in header)
    if recipe in {info.name for info in list_recipes()}:
        text = lines + _differences(recipe, settings)
        try:
            if parse_recipe(text, name=wanted.name, where="winner") == wanted:
                return text
        except RecipeError:
            pass
    return lines + wanted.to_toml().partition("\n")[2]


def _differences(recipe: str, settings: Sequence[str]) -> str:
    import tomli_w

    changes: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        *path, last = name.strip().split(".")
        if not path and last in WHOLE:
            whole[last] = _value(value)
            continue
        table = changes
        for part in path:
            table = table.setdefault(part, {})
        table[last] = _value(value)
    return tomli_w.dumps({"base": recipe, **whole, **({"set": changes} if changes else {})})


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def sealed(text: str, question: str) -> str:
    """The file with a last line of its header by which the search of that question knows it again, unedited."""
    lines = text.splitlines(keepends=True)
    place = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    seal = f"# question {question}, checksum {_checksum(text)}: once edited, no search replaces this file unasked\n"
    return "".join([*lines[:place], seal, *lines[place:]])


def question_of(path: Path) -> str | None:
    """Which question's search wrote a file; None where that was none, or somebody has edited it."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = SEAL.search(text)
    if found is None or found[2] != _checksum(text.replace(found[0], "", 1)):
        return None
    return found[1]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_recipe(path: Path, text: str) -> None:
    """Where it was asked for; its folder is made."""
    from phasefit.files.atomic import write_text

    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
