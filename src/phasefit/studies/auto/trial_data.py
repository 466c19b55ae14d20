"""Rounds as cells: the rows that may be looked at, written down once, and what each cell trains and is scored on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phasefit.data.splits import split
from phasefit.data.table import Table
from phasefit.data.task_file import is_task_file
from phasefit.errors import RecipeError
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.specification import RunSpec
from phasefit.studies.auto.candidates import YARDSTICK, Candidate
from phasefit.studies.auto.halving import Round, folds_for
from phasefit.studies.cell import Cell
from phasefit.studies.folder import ROWS
from phasefit.studies.rows import reading, rows_without_test, spec_on_rows, write_rows_once

HELD = 0.2  # share that a split holds out and scores
MOST_HELD = 2_000  # rows that a look at little is scored on


@dataclass(frozen=True)
class TrialData:
    """Where cells are run: the files with the rows, and how they are read. No row of the test is among them."""

    dataset: str
    spec: RunSpec
    all: str  # every row that may be used
    some: str  # those of them that looks at little are trained on; none with folds
    held: str  # and those that such looks are scored on
    reading: dict[str, Any]
    folds: int | None
    overlap: float  # held-out rows per training row

    def cell(self, candidate: Candidate, round: Round, repetition: int) -> Cell:
        """One candidate on one part of the rows; the same rows for every candidate."""
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
    """The tables as the final run will have them; what auto cannot choose for is refused."""
    if is_task_file(spec.data.source):
        raise RecipeError("--recipe auto chooses for one table; train a task file with --recipe multitask")
    base = base_run(spec.model)
    if base is not None:
        raise RecipeError("--recipe auto chooses for a fresh start; name a recipe to go on from a run")
    return prepare(spec.data, spec.split, seed=spec.seed, needs=needs_of(read_recipe(YARDSTICK)))


def write_trial_data(spec: RunSpec, prepared: Prepared, folder: Path, threads: int | None) -> TrialData:
    """Write the rows down."""
    place = folder / ROWS
    place.mkdir(exist_ok=True)
    table = rows_without_test(prepared)
    options: dict[str, Any] = reading(table, prepared.space.kind)
    if prepared.unlabelled is not None:
        options["unlabelled"] = write_rows_once(prepared.unlabelled, place / "unlabelled.parquet")
    folds = folds_for(len(table))
    some = held = ""
    if folds is None:
        trained, scored = _apart(table, prepared, spec.seed)
        some = write_rows_once(table.take(trained), place / "some.parquet")
        held = write_rows_once(table.take(scored), place / "held.parquet")
    bare = spec.replace(threads=threads, refit=False, track=None, keep_phases=False, reject=0.0, model_name=None)
    return TrialData(
        prepared.name,
        bare.replace(out=None, overwrite=False, command=""),
        write_rows_once(table, place / "all.parquet"),
        some,
        held,
        options,
        folds,
        (1 / (folds - 1) if folds is not None else HELD / (1 - HELD)) / (1 - HELD),
    )


def _apart(table: Table, prepared: Prepared, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that looks at little are trained on, and others that score them, each class in proportion."""
    share = min(HELD, MOST_HELD / max(len(table), 1))
    codes = prepared.space.encode(list(table.labels or ()), where=table.name)
    drawn = split(codes, validation=0.0, test=share, seed=seed, same=table.same)
    return np.sort(drawn.train), np.sort(drawn.test)
