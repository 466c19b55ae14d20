"""Name the files outside the current folder that a recipe, a task file or a saved run makes phasefit read.

Such files may come from a stranger; the user sees the paths before anything is read. Paths that the user typed are not
repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from phasefit.data.task_file import TaskFile, is_task_file, read_task_file
from phasefit.errors import PhasefitError
from phasefit.recipes import Recipe
from phasefit.runs.specification import RunSpec


def outside_notes(spec: RunSpec, recipe: Recipe, run: Path | None = None) -> list[str]:
    """A note per file; `run` is the folder of a run that is resumed, whose manifest names the tables and the model."""
    named: dict[str, Iterable[Any]] = {f"recipe '{recipe.name}'": recipe.files()}
    file = _task_file(spec.data.source)
    if file is not None:
        tables = [*file.tasks, *([] if file.before is None else [file.before])]
        named[f"task file '{file.name}'"] = [
            path for task in tables for path in (task.data, task.validation, task.test)
        ]
    if run is not None:
        data = spec.data
        named[f"run '{run}'"] = [data.source, data.validation, data.test, data.unlabelled, spec.model]
    return [
        f"reading {path}, which is outside the current folder (named in the {where})"
        for where, paths in named.items()
        for path in dict.fromkeys(_outside(paths))
    ]


def _task_file(source: Any) -> TaskFile | None:
    """The task file of a run; None if there is none, or if it is wrong, which is reported when it is used."""
    with suppress(PhasefitError):
        return read_task_file(source) if is_task_file(source) else None
    return None


def _outside(paths: Iterable[Any]) -> list[Path]:
    """Existing files and folders that are not below the current folder."""
    here = Path.cwd().resolve()
    existing = [Path(path).expanduser() for path in paths if isinstance(path, str | Path) and _exists(path)]
    return [path.resolve() for path in existing if not path.resolve().is_relative_to(here)]


def _exists(path: str | Path) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError):  # a name that no file can have, such as one with a NUL character
        return False
