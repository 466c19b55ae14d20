"""Rounds as cells: the rows that may be looked at, written down once, and what each cell trains and is scored on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phasefit.data.splits import split
from phasefit.data.table import Table
from phasefit.prepare.prepare import Prepared
from phasefit.runs.specification import RunSpec
from phasefit.studies.auto.candidates import Candidate
from phasefit.studies.auto.halving import Round, folds_for
from phasefit.studies.cell import Cell
from phasefit.studies.folder import ROWS
from phasefit.studies.rows import on_rows, pooled, reading, write_once

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
        return Cell(self.dataset, candidate.name, on_rows(self.spec, **fields))


def write_trial_data(spec: RunSpec, prepared: Prepared, folder: Path, threads: int | None) -> TrialData:
    """Write the rows down."""
    place = folder / ROWS
    place.mkdir(exist_ok=True)
    table = pooled(prepared)
    options: dict[str, Any] = reading(table, prepared.space.kind)
    if prepared.unlabelled is not None:
        options["unlabelled"] = write_once(prepared.unlabelled, place / "unlabelled.parquet")
    folds = folds_for(len(table))
    some = held = ""
    if folds is None:
        trained, scored = _apart(table, prepared, spec.seed)
        some = write_once(table.take(trained), place / "some.parquet")
        held = write_once(table.take(scored), place / "held.parquet")
    bare = spec.replace(threads=threads, refit=False, track=None, keep_phases=False, reject=0.0, model_name=None)
    return TrialData(
        prepared.name,
        bare.replace(out=None, overwrite=False, command=""),
        write_once(table, place / "all.parquet"),
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
