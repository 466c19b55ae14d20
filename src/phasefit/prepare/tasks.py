"""From a task file to rows: each task prepared as a table of its own, and what comes before them. Imports no torch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from phasefit.data.hygiene import hygiene
from phasefit.data.labels import NoLabels
from phasefit.data.table import Table
from phasefit.data.task_file import TaskFile, TaskSpec, is_task_file, read_task_file
from phasefit.errors import DataError
from phasefit.prepare.base import Base
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.prepare.specification import DataSpec, SplitSpec
from phasefit.recipes.needs import Needs

OF_A_TABLE = ("text", "label", "kind", "tree", "separator", "levels", "validation", "test", "unlabelled")
TASK = Needs(labels=True, labels_of_pairs=True)


def prepare_tasks(data: DataSpec, split: SplitSpec, seed: int, needs: Needs, base: Base | None = None) -> Prepared:
    """All tables of a task file; `needs` is what the phases before the tasks must have."""
    if not is_task_file(data.source):
        raise DataError(
            "this recipe learns several tasks from a task file: give a TOML file with [[task]] tables as DATA, or "
            "'cs224n'; 'phasefit recipes' has recipes for one table"
        )
    for name in OF_A_TABLE:
        if getattr(data, name):
            raise DataError(f"--{name} is about one table; write it into the [[task]] tables of {data.source}")
    file = read_task_file(data.source)
    prepared = partial(_prepared, data.data_dir, split, seed)
    tasks = {
        task.name: prepared(
            task, TASK, f"{file.name}.toml, task '{task.name}'", None if base is None else base.of_task(task.name)
        )
        for task in file.tasks
    }
    wanted = _needs_before(file, needs)
    before = None
    if file.before is not None and wanted is not None:
        before = prepared(file.before, wanted, f"{file.name}.toml, before")
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


def _prepared(
    data_dir: Path | None,
    split: SplitSpec,
    seed: int,
    task: TaskSpec,
    needs: Needs,
    where: str,
    base: Base | None = None,
) -> Prepared:
    """One table of the file; what is wrong with it is said with its place."""
    data = DataSpec(task.data, validation=task.validation, test=task.test, data_dir=data_dir, **task.options())
    try:
        return prepare(data, replace(split, rows=task.rows or split.rows), seed=seed, base=base, needs=needs)
    except DataError as error:
        raise type(error)(f"{where}: {error}") from error


def _needs_before(file: TaskFile, needs: Needs) -> Needs | None:
    """What the phases before the tasks need of a table of their own; those that need texts alone take the tasks'."""
    if file.before is None or not (needs.pairs or needs.texts):
        if needs.pairs:
            raise DataError(
                f"{file.name}: the recipe learns from pairs of texts before the tasks, and the file names none; add "
                "a table [before] with data"
            )
        return None
    return Needs(labels=False, pairs=needs.pairs, texts=True)
