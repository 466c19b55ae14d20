"""What a task file says about heads, written into the recipe: the run's recipe then says all there is to say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from phasefit.data.task_file import TABLE, TaskFile
from phasefit.errors import DataError, did_you_mean
from phasefit.phases.multitask.options import Options, TaskSettings
from phasefit.phases.options import PhaseOptions
from phasefit.recipes import Recipe


def with_tasks(recipe: Recipe, file: TaskFile, tasks: Iterable[str]) -> Recipe:
    """The recipe with the heads of the task file; what the recipe or --set says about one wins."""
    names = list(tasks)
    return replace(recipe, phases=tuple(_filled(options, file, names) for options in recipe.phases))


def watches_of(recipe: Recipe) -> dict[str, str]:
    """What each task is judged by, `auto` where nobody says; a later phase has the last word."""
    phases = [options for options in recipe.phases if isinstance(options, Options)]
    return {name: settings.watch for options in phases for name, settings in options.tasks.items()}


def _filled(options: PhaseOptions, file: TaskFile, names: list[str]) -> PhaseOptions:
    if not isinstance(options, Options):
        return options
    usual = {} if file.dropout is None else {"dropout": file.dropout}
    heads: dict[str, Any] = {}
    for spec in file.tasks:
        said = options.tasks[spec.name].model_dump(exclude_unset=True) if spec.name in options.tasks else {}
        try:
            heads[spec.name] = TaskSettings(**{**usual, **spec.head, **said})
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "extra_forbidden":
                name, known = str(first["loc"][0]), (*TABLE, *TaskSettings.model_fields)
                problem = f"unknown option '{name}'; {did_you_mean(name, known)}"
                raise DataError(f"{file.name}, task '{spec.name}': {problem}") from None
            field = ".".join(map(str, first["loc"]))
            raise DataError(f"{file.name}, task '{spec.name}': {field}: {first['msg']}") from None
    others = {name: value for name, value in options.tasks.items() if name not in heads}
    shared = options.shared or (file.shared and not options.freeze)
    return options.model_copy(update={"tasks": {**heads, **others}, "shared": shared})
