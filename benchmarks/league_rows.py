"""The rows of the league: scored rows depend on the set and the stage, training rows also on the draw.

In development, rows are scored that are held out of the training rows, and test rows are not read. A set without a test
split has other held-out training rows for the final stage, which development never uses. Copies of a text are never on
both sides.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

import numpy as np
from few_shot_rows import Rows, as_strings
from league_plan import DEVELOPMENT, FINAL, Cell

PART = "league"
SCORED = {DEVELOPMENT: 1000, FINAL: 2000}  # at most; more would take longer to predict than to train
SHARE = 0.3  # at most, of the training rows
SEEDS = {DEVELOPMENT: 1, FINAL: 2}  # of the rows held out of the training rows


def rows_of(cell: Cell, data_dir: Path | None = None) -> tuple[Rows, Rows]:
    """The training rows of a cell and the rows that it is scored on."""
    from phasefit.data import few_shot
    from phasefit.data.splits import sample

    pool, scored = pool_of(cell.dataset, cell.stage, data_dir)
    if cell.regime.per_class is not None:
        return _at(pool, few_shot(_codes(pool), cell.regime.per_class, cell.draw)), scored
    return _at(pool, sample(_codes(pool), cell.regime.rows or len(pool), cell.draw)), scored


@lru_cache(maxsize=4)
def pool_of(dataset: str, stage: str, data_dir: Path | None = None) -> tuple[Rows, Rows]:
    """The rows that a draw may take, and the rows that are scored."""
    from phasefit.data import read_table
    from phasefit.data.sources import source_files

    has_test = "test" in source_files(dataset, data_dir)
    pool = _rows(read_table(dataset, split="train", data_dir=data_dir))
    if stage == FINAL and has_test:
        scored = _sampled(_rows(read_table(dataset, split="test", data_dir=data_dir)), dataset)
        return _without(pool, scored), scored
    if not has_test:
        pool, scored = hold_out(pool, FINAL)
        if stage == FINAL:
            return pool, scored
    return hold_out(pool, DEVELOPMENT)


def hold_out(pool: Rows, stage: str) -> tuple[Rows, Rows]:
    """Rows that remain, and a fixed, stratified part of the rows for a stage."""
    from phasefit.data.equal_texts import same_text_hashes
    from phasefit.data.splits import split

    share = min(SHARE, SCORED[stage] / len(pool))
    same = same_text_hashes(pool.texts)
    parts = split(_codes(pool), validation=0.0, test=share, seed=SEEDS[stage], same=same)
    return _at(pool, parts.train), _at(pool, parts.test)


def fingerprint(train: Rows, scored: Rows) -> str:
    """A checksum of all texts and labels: results are compared only if theirs are equal."""
    content = json.dumps([train.texts, train.labels, scored.texts, scored.labels])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def _rows(table: object) -> Rows:
    return Rows(list(table.texts), as_strings(table.labels or ()))  # type: ignore[attr-defined]


def _sampled(rows: Rows, dataset: str) -> Rows:
    from phasefit.seeds import generator

    if len(rows) <= SCORED[FINAL]:
        return rows
    return _at(rows, np.sort(generator(0, PART, dataset).permutation(len(rows))[: SCORED[FINAL]]))


def _without(pool: Rows, scored: Rows) -> Rows:
    from phasefit.data.equal_texts import same_text_hashes

    return _at(pool, np.flatnonzero(~np.isin(same_text_hashes(pool.texts), same_text_hashes(scored.texts))))


def _codes(rows: Rows) -> np.ndarray:
    return np.unique(rows.labels, return_inverse=True)[1]


def _at(rows: Rows, places: np.ndarray) -> Rows:
    return Rows([rows.texts[place] for place in places], [rows.labels[place] for place in places])
