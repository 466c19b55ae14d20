"""From a task file to rows: each task's table is prepared separately, and so is [before]. Imports no torch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from phasefit.data.hygiene import hygiene
from phasefit.data.labels import NoLabels
from phasefit.data.stored_texts import join_texts
from phasefit.data.table import Table
from phasefit.data.task_file import TaskFile, TaskSpec, is_task_file, read_task_file
from phasefit.errors import DataError
from phasefit.prepare.base import Base
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.prepare.source_facts import SourceFacts
from phasefit.prepare.specification import DataSpec, SplitSpec
from phasefit.recipes.needs import Needs

OF_A_TABLE = (
    *("text", "label", "kind", "tree", "separator", "levels", "validation", "test", "unlabelled"),
    *("delimiter", "encoding", "sheet"),
)
TASK = Needs(labels=True, labels_of_pairs=True)


def prepare_tasks(data: DataSpec, split: SplitSpec, seed: int, needs: Needs, base: Base | None = None) -> Prepared:
    """All tables of a task file; `needs` is what the phases before the tasks require."""
    if not is_task_file(data.source):
        raise DataError(
            "this recipe trains several tasks and needs a task file as DATA: a TOML file with [[task]] tables, or "
            "'cs224n'; 'phasefit recipes' lists recipes for a single table"
        )
    for name in OF_A_TABLE:
        if getattr(data, name):
            raise DataError(f"--{name} applies to a single table; set it in the [[task]] tables of {data.source}")
    file = read_task_file(data.source)
    prepared = partial(_prepared, data, split, seed)
    tasks = {
        task.name: prepared(task, TASK, file.where(task.name), None if base is None else base.of_task(task.name))
        for task in file.tasks
    }
    needs_before = _needs_before(file, needs)
    before = None
    if file.before is not None and needs_before is not None:
        before = prepared(file.before, needs_before, f"{file.name}.toml, before")
    train = Table(file.name, join_texts([side for task in tasks.values() for side in task.train.sides]))
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
        SourceFacts() if before is None else before.source,
    )


def _prepared(
    given: DataSpec,
    split: SplitSpec,
    seed: int,
    task: TaskSpec,
    needs: Needs,
    where: str,
    base: Base | None = None,
) -> Prepared:
    """One table of the file; errors start with its place in the file."""
    where_to_read = {"data_dir": given.data_dir, "read_as": given.read_as, "empty": given.empty}
    options = {**where_to_read, **{name: value for name, value in task.options().items() if value}}
    try:
        data = DataSpec(task.data, validation=task.validation, test=task.test, **options)
        return prepare(data, replace(split, rows=task.rows or split.rows), seed=seed, base=base, needs=needs)
    except DataError as error:
        raise type(error)(f"{where}: {error}") from error


def _needs_before(file: TaskFile, needs: Needs) -> Needs | None:
    """What the phases before the tasks need of the [before] table; None if they can use the texts of the tasks."""
    if file.before is None or not (needs.pairs or needs.texts):
        if needs.pairs:
            raise DataError(
                f"{file.name}: the recipe learns from pairs of texts before the tasks, but the file has none; add a "
                "[before] table with data"
            )
        return None
    return Needs(labels=False, pairs=needs.pairs, texts=True)
