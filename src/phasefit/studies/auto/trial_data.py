"""Rounds as cells: the available rows, written once, and the rows that each cell is trained and scored on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phasefit.data.splits import split
from phasefit.data.table import Table
from phasefit.data.task_file import is_task_file
from phasefit.errors import RecipeError
from phasefit.files.atomic import make_folders
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.specification import RunSpec
from phasefit.studies.auto.candidates import REFERENCE, Candidate
from phasefit.studies.auto.halving import Round, folds_for
from phasefit.studies.cell import Cell
from phasefit.studies.folder import ROWS
from phasefit.studies.rows import reading, rows_without_test, spec_on_rows, write_rows_once

HELD = 0.2  # share of rows that a split holds out for scoring
MOST_HELD = 2_000  # rows that early rounds are scored on


@dataclass(frozen=True)
class TrialData:
    """The files with the rows for cells, and how to read them. They contain no test rows."""

    dataset: str
    spec: RunSpec
    all: str  # all available rows
    some: str  # the rows that early rounds train on; empty with folds
    held: str  # the rows that early rounds are scored on; empty with folds
    reading: dict[str, Any]
    folds: int | None
    overlap: float  # held-out rows per training row

    def cell(self, candidate: Candidate, round: Round, repetition: int) -> Cell:
        """One candidate on one part of the rows; every candidate gets the same rows."""
        fields: dict[str, Any] = {**self.reading, "recipe": candidate.recipe, "settings": candidate.settings}
        if self.folds is not None:
            fields |= {"data": self.all, "fold": (repetition + 1, self.folds), "validation_size": HELD}
        elif round.whole:
            seed = self.spec.seed + repetition
            fields |= {"data": self.all, "rows": round.rows, "test_size": HELD, "validation_size": HELD, "seed": seed}
        else:
            fields |= {"data": self.some, "test": self.held, "rows": round.rows, "validation_size": HELD}
        return Cell(self.dataset, candidate.name, spec_on_rows(self.spec, **fields))


def prepare_tables(spec: RunSpec) -> Prepared:
    """The tables of the final run; raises for data that auto does not support."""
    if is_task_file(spec.data.source):
        raise RecipeError("--recipe auto supports one table only; train a task file with --recipe multitask")
    base = base_run(spec.model)
    if base is not None:
        raise RecipeError("--recipe auto cannot continue from a run; name the recipe to continue with")
    return prepare(spec.data, spec.split, seed=spec.seed, needs=needs_of(read_recipe(REFERENCE)))


def write_trial_data(spec: RunSpec, prepared: Prepared, folder: Path, threads: int | None) -> TrialData:
    """Write the rows and return how to use them."""
    target = folder / ROWS
    make_folders(target)
    table = rows_without_test(prepared)
    options: dict[str, Any] = reading(table, prepared.space.kind)
    if prepared.unlabelled is not None:
        options["unlabelled"] = write_rows_once(prepared.unlabelled, target / "unlabelled.parquet")
    folds = folds_for(len(table))
    some = held = ""
    if folds is None:
        trained, scored = _split_rows(table, prepared, spec.seed)
        some = write_rows_once(table.take(trained), target / "some.parquet")
        held = write_rows_once(table.take(scored), target / "held.parquet")
    bare = spec.replace(threads=threads, refit=False, track=None, keep_phases=False, reject=0.0, model_name=None)
    return TrialData(
        prepared.name,
        bare.replace(out=None, overwrite=False, command=""),
        write_rows_once(table, target / "all.parquet"),
        some,
        held,
        options,
        folds,
        (1 / (folds - 1) if folds is not None else HELD / (1 - HELD)) / (1 - HELD),
    )


def _split_rows(table: Table, prepared: Prepared, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Stratified split into the rows that early rounds train on and those that score them."""
    share = min(HELD, MOST_HELD / max(len(table), 1))
    codes = prepared.space.encode(list(table.labels or ()), where=table.name)
    drawn = split(codes, validation=0.0, test=share, seed=seed, same=table.same)
    return np.sort(drawn.train), np.sort(drawn.test)
