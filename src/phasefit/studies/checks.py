"""What can be wrong with a study is found before anything is trained: tables are read and split once. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phasefit.data.task_file import is_task_file
from phasefit.errors import DataError, PhasefitError
from phasefit.recipes import read_recipe
from phasefit.runner.default_recipe import asked_recipe
from phasefit.runner.needs import Needs, needs_of
from phasefit.runner.prepare import prepare
from phasefit.runner.request import DEFAULT_RECIPE, TrainRequest
from phasefit.runner.starting import base_run
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.result import RESULT


def check_cells(cells: Sequence[Cell], cache: Path) -> None:
    """Read and split the rows of every cell that has no result, once for each dataset and need of the recipes."""
    seen: set[tuple[str, Needs]] = set()
    for cell in cells:
        needs = needs_of_cell(cell)
        if (cell.dataset, needs) in seen or (cell_folder(cache, cell) / RESULT).is_file():
            continue
        seen.add((cell.dataset, needs))
        try:
            if cell.is_baseline and is_task_file(cell.request.data):
                raise DataError("baselines take one table, and this is a task file; leave them out")
            prepare(cell.request, base_run(cell.request.model), needs)
        except PhasefitError as error:
            raise type(error)(f"{cell.variant} on {cell.dataset}: {error}") from error


def needs_of_cell(cell: Cell) -> Needs:
    """What its recipe must have of every row; baselines take what has labels, or texts where encoders are scored."""
    if cell.is_baseline:
        return Needs(labels=cell.pairs is None, labels_of_pairs=True)
    return needs_of_request(cell.request)


def needs_of_request(request: TrainRequest) -> Needs:
    """What a request must have of every row."""
    if request.recipe == DEFAULT_RECIPE:
        return needs_of(asked_recipe(request), open=True)
    return needs_of(read_recipe(request.recipe, request.settings))
