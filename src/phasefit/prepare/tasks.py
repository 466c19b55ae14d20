"""From a task file to rows: each task prepared as a table of its own, and what comes before them. Imports no torch."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from phasefit.data.hygiene import hygiene
from phasefit.data.labels import NoLabels
from phasefit.data.table import Table
from phasefit.data.task_file import TaskFile, TaskSpec, is_task_file, read_task_file
from phasefit.errors import DataError
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.prepare.request import TrainRequest
from phasefit.prepare.splitting import Base
from phasefit.recipes.needs import Needs

OF_A_TABLE = ("text", "label", "kind", "tree", "separator", "levels", "validation", "test", "unlabelled")
TASK = Needs(labels=True, labels_of_pairs=True)


def prepare_tasks(request: TrainRequest, needs: Needs, base: Base | None = None) -> Prepared:
    """All tables of a task file; `needs` is what the phases before the tasks must have."""
    if not is_task_file(request.data):
        raise DataError(
            "this recipe learns several tasks from a task file: give a TOML file with [[task]] tables as DATA, or "
            "'cs224n'; 'phasefit recipes' has recipes for one table"
        )
    for name in OF_A_TABLE:
        if getattr(request, name):
            raise DataError(f"--{name} is about one table; write it into the [[task]] tables of {request.data}")
    file = read_task_file(request.data)
    known = {spec.name: None if base is None else base.of_task(spec.name) for spec in file.tasks}
    tasks = {
        spec.name: _prepared(request, spec, TASK, f"{file.name}.toml, task '{spec.name}'", known[spec.name])
        for spec in file.tasks
    }
    before = _before(request, file, needs)
    train = Table(file.name, list(chain.from_iterable(task.train.all_texts for task in tasks.values())))
    notes = [f"{name}: {note}" for name, task in tasks.items() for note in task.notes]
    serious = [f"{name}: {note}" for name, task in tasks.items() for note in task.warnings]
    if before is not None:
        notes += [f"before the tasks: {note}" for note in before.notes]
        train = before.train
    return Prepared(
        file.name,
        NoLabels(),
        train,
        None if before is None else before.validation,
        None,
        None,
        "-".join(part.sha256[:16] for part in (*tasks.values(), *([] if before is None else [before]))),
        hygiene({"train": train}),
        notes,
        None,
        tuple(serious),
        tasks,
        before is not None,
        file,
    )


def _request(request: TrainRequest, spec: TaskSpec) -> TrainRequest:
    own: dict[str, Any] = spec.options() | {"validation": spec.validation, "test": spec.test}
    return replace(request, data=spec.data, rows=spec.rows or request.rows, unlabelled=None, **own)


def _prepared(request: TrainRequest, spec: TaskSpec, needs: Needs, where: str, base: Base | None = None) -> Prepared:
    """One table of the file; what is wrong with it is said with its place."""
    try:
        return prepare(_request(request, spec), base, needs)
    except DataError as error:
        raise type(error)(f"{where}: {error}") from error


def _before(request: TrainRequest, file: TaskFile, needs: Needs) -> Prepared | None:
    """The table of the phases before the tasks, where there are any; those that need texts alone take the tasks'."""
    if file.before is None or not (needs.pairs or needs.texts):
        if needs.pairs:
            raise DataError(
                f"{file.name}: the recipe learns from pairs of texts before the tasks, and the file names none; add "
                "a table [before] with data"
            )
        return None
    wanted = Needs(labels=False, pairs=needs.pairs, texts=True)
    return _prepared(request, file.before, wanted, f"{file.name}.toml, before")
