"""Parts of a table that studies ask for: one fold of a cross-validation, the rows of some classes. Imports no torch."""

from __future__ import annotations

from collections import Counter

import numpy as np

from phasefit.data.splits import folds
from phasefit.data.table import Table, label_name
from phasefit.errors import DataError, did_you_mean
from phasefit.prepare.base import Base
from phasefit.prepare.specification import SplitSpec
from phasefit.prepare.splitting import labels_of, space_of


def held_out_fold(
    train: Table, fold: tuple[int, int], seed: int, base: Base | None, notes: list[str]
) -> tuple[Table, Table | None, Table]:
    """One fold of the training table as the test; validation is split off the others afterwards."""
    if base is not None:
        raise DataError("a fold cannot be held out from a run that goes on: it may have been trained on; leave one out")
    which, number = fold
    if not 1 <= which <= number:
        raise DataError(f"there is no fold {which} of {number}; they are counted from 1")
    labels = labels_of(train)
    fold_numbers = folds(space_of(train, None).encode(labels), number, seed, train.same)
    test = np.flatnonzero(fold_numbers == which - 1)
    if not len(test):
        raise DataError(f"{train.name}: {len(train):,} rows do not fill {number} folds; ask for fewer")
    notes.append(
        f"fold {which} of {number} of the training table is the test, stratified; splits it came with are unused"
    )
    return train.take(np.flatnonzero(fold_numbers != which - 1)), None, train.take(test)


def keep_classes(
    train: Table, validation: Table | None, test: Table | None, spec: SplitSpec, notes: list[str]
) -> tuple[Table, Table | None, Table | None]:
    """The rows of the classes that were named, or of the most frequent ones."""
    if not spec.classes and spec.top_classes is None:
        return train, validation, test
    if spec.classes and spec.top_classes is not None:
        raise DataError("classes are named, or the most frequent ones are taken; leave one out")
    counts = Counter(map(label_name, labels_of(train)))
    wanted = {*spec.classes}
    for name in spec.classes:
        if name not in counts:
            raise DataError(f"{train.name} has no class '{name}'; {did_you_mean(name, counts)}")
    if spec.top_classes is not None:
        ranked = sorted(counts, key=lambda name: (-counts[name], name))
        if spec.top_classes > len(ranked):
            raise DataError(f"{train.name} has {len(ranked)} classes, not {spec.top_classes}")
        wanted = {*ranked[: spec.top_classes]}
    if len(wanted) < 2:
        raise DataError(f"a classifier needs two classes at least, and {len(wanted)} is asked for")
    notes.append(f"only the rows of {len(wanted)} of the {len(counts)} classes are used")
    kept = (_only(table, wanted) for table in (validation, test))
    return train.take(_rows(train, wanted)), *kept  # type: ignore[return-value]


def _only(table: Table | None, wanted: set[str]) -> Table | None:
    if table is None or table.labels is None:
        return table
    rows = _rows(table, wanted)
    return table.take(rows) if len(rows) else None


def _rows(table: Table, wanted: set[str]) -> np.ndarray:
    return np.flatnonzero([label_name(label) in wanted for label in labels_of(table)])
