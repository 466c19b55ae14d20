"""Checks before anything is trained: tables are read and split once. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phasefit.baselines import baseline
from phasefit.data.task_file import is_task_file
from phasefit.errors import DataError, PhasefitError, did_you_mean
from phasefit.kinds import kind_of
from phasefit.metrics.registry import CLASS, LEVELS, comparable_names, leaf
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import Needs, needs_of
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.recipe.resolve import requested_recipe
from phasefit.runs.specification import DEFAULT_RECIPE, RunSpec
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.ledger import Ledger
from phasefit.studies.result import RESULT

PAIR_SCORES = ("test.spearman", "test.pearson")  # of the cosines of an encoder


def check_cells(
    cells: Sequence[Cell], cache: Path, scores: Sequence[str | None] = (None,), ledger: Ledger | None = None
) -> list[str]:
    """Read and split the rows of every cell without a result, once per dataset and needs of the recipe.

    Returns notes about the files: what was assumed, and how many rows were left out.

    `scores` are the metrics that the tables will show: there must be rows to score and predictions.
    """
    for score in scores:
        check_score(score)
    on_test = any(score is None or score.startswith("test.") for score in scores)
    seen: set[tuple[str, str, Needs, bool]] = set()
    notes: dict[str, None] = {}  # in order
    for cell in cells:
        needs, fold = needs_of_cell(cell), cell.spec.split.fold
        last = fold is not None and fold[0] == fold[1]  # if any fold lacks rows, the last one does
        key = (cell.dataset, cell.spec.recipe.name, needs, last)
        if key in seen or has_result(cell, cache, ledger):
            continue
        seen.add(key)
        try:
            prepared = _check(cell, needs, on_test, [score for score in scores if score is not None])
        except PhasefitError as error:
            raise type(error)(f"{cell.variant} on {cell.dataset}: {error}") from error
        notes |= dict.fromkeys(prepared.source_notes)
    return list(notes)


def has_result(cell: Cell, cache: Path, ledger: Ledger | None) -> bool:
    """Whether a cell was run before: here, or by whoever filled the ledger."""
    return (cell_folder(cache, cell) / RESULT).is_file() or (ledger is not None and ledger.find(cell) is not None)


def check_pair_scores(score: str | None, cells: Sequence[Cell]) -> None:
    """Raise for a score that encoders scored on pairs do not have, if a table consists of such cells."""
    if score is None or not cells or any(cell.pairs is None for cell in cells):
        return
    if score not in PAIR_SCORES:
        raise DataError(
            f"{score}: encoders are scored on pairs by {' and '.join(PAIR_SCORES)} only; choose one of them"
        )


def _check(cell: Cell, needs: Needs, on_test: bool, scores: Sequence[str]) -> Prepared:
    if cell.is_baseline and is_task_file(cell.spec.data.source):
        raise DataError("baselines support one table only, and this is a task file; remove the baselines")
    if cell.pairs is None and not _predicts(cell):
        raise DataError("the recipe trains an encoder only and makes no predictions to score; remove it")
    if cell.pairs is not None and cell.is_baseline and cell.spec.recipe.name != "untrained":
        raise DataError("baselines other than 'untrained' have no encoder to score on pairs; remove this one")
    spec = cell.spec
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base_run(spec.model), needs=needs)
    if cell.is_baseline and cell.pairs is None:
        baseline(cell.spec.recipe.name).check_rows(prepared)
    if cell.pairs is None and not prepared.tasks:
        for score in scores:
            _check_kind(score, prepared)
    tests = [prepared.test, *(task.test for task in prepared.tasks.values())]
    if on_test and cell.pairs is None and not any(table is not None and len(table) for table in tests):
        raise DataError("no test rows to score; give --test, a --test-size, --folds or --score validation.NAME")
    return prepared


def _check_kind(score: str, prepared: Prepared) -> None:
    """Raise for a metric that labels of this kind do not have."""
    kind = kind_of(prepared.space)
    of_classes = (CLASS,) if kind.has_classes else (LEVELS, CLASS)
    if leaf(score) not in comparable_names(*kind.metric_groups, *(of_classes if len(prepared.space) else ())):
        raise DataError(f"--score {score}: labels of kind '{kind.name}' have no such metric")


def check_score(path: str | None) -> None:
    """Raise for a metric that metrics.json never has, with the nearest name."""
    if path is None:
        return
    split, _, name = path.partition(".")
    metric, known = leaf(name), comparable_names()
    if split not in ("test", "validation") or metric not in known:
        near = did_you_mean(metric or split, known)
        if split in known:
            near = f"for example test.{split}"
        raise DataError(f"unknown score '{path}': write it as test.NAME or validation.NAME; {near}")


def _predicts(cell: Cell) -> bool:
    if cell.is_baseline:
        return cell.spec.recipe.name != "untrained"
    if cell.spec.recipe.name == DEFAULT_RECIPE:
        return True
    return read_recipe(cell.spec.recipe.name, cell.spec.recipe.settings).trains_head


def needs_of_cell(cell: Cell) -> Needs:
    """What its recipe needs of every row; baselines need labels, or only texts if encoders are scored on pairs."""
    if cell.is_baseline:
        return Needs(labels=cell.pairs is None, labels_of_pairs=True)
    return needs_of_spec(cell.spec)


def needs_of_spec(spec: RunSpec) -> Needs:
    """What a run needs of every row."""
    if spec.recipe.name == DEFAULT_RECIPE:
        return needs_of(requested_recipe(spec), open=True)
    return needs_of(read_recipe(spec.recipe.name, spec.recipe.settings))
