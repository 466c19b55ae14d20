"""Parts of a table: one fold of a cross-validation, or the rows of selected classes. Imports no torch."""

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
    """Use one fold of the training table as the test set; validation is split off the other folds later."""
    if base is not None:
        raise DataError("--fold cannot be combined with --model RUN: the fold may have been trained on")
    which, number = fold
    if not 1 <= which <= number:
        raise DataError(f"there is no fold {which} of {number}; folds are numbered from 1")
    labels = labels_of(train)
    fold_numbers = folds(space_of(train, None).encode(labels), number, seed, train.same)
    test = np.flatnonzero(fold_numbers == which - 1)
    if not len(test):
        raise DataError(f"{train.name}: {len(train):,} rows are too few for {number} folds; use fewer folds")
    notes.append(
        f"fold {which} of {number} of the training table is the test set (stratified); existing splits are ignored"
    )
    return train.take(np.flatnonzero(fold_numbers != which - 1)), None, train.take(test)


def keep_classes(
    train: Table, validation: Table | None, test: Table | None, spec: SplitSpec, notes: list[str]
) -> tuple[Table, Table | None, Table | None]:
    """Keep only rows of the selected classes, or of the most frequent ones."""
    if not spec.classes and spec.top_classes is None:
        return train, validation, test
    if spec.classes and spec.top_classes is not None:
        raise DataError("--classes and --top-classes cannot be combined; use only one of them")
    counts = Counter(map(label_name, labels_of(train)))
    selected = {*spec.classes}
    for name in spec.classes:
        if name not in counts:
            raise DataError(f"{train.name} has no class '{name}'; {did_you_mean(name, counts)}")
    if spec.top_classes is not None:
        ranked = sorted(counts, key=lambda name: (-counts[name], name))
        if spec.top_classes > len(ranked):
            raise DataError(f"{train.name} has only {len(ranked)} classes, but --top-classes is {spec.top_classes}")
        selected = {*ranked[: spec.top_classes]}
    if len(selected) < 2:
        raise DataError(f"a classifier needs at least two classes, but only {len(selected)} is selected")
    notes.append(f"using only the rows of {len(selected)} of the {len(counts)} classes")
    kept = (_only(table, selected) for table in (validation, test))
    return train.take(_rows(train, selected)), *kept  # type: ignore[return-value]


def _only(table: Table | None, selected: set[str]) -> Table | None:
    if table is None or table.labels is None:
        return table
    rows = _rows(table, selected)
    return table.take(rows) if len(rows) else None


def _rows(table: Table, selected: set[str]) -> np.ndarray:
    return np.flatnonzero([label_name(label) in selected for label in labels_of(table)])
