"""Rows that are both trained on and scored: what `--leaked` leaves out, and unlabelled texts that will be scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phasefit.data.hygiene import shared
from phasefit.data.table import Table
from phasefit.errors import DataError, LabelError, did_you_mean
from phasefit.kinds import kind_named

if TYPE_CHECKING:
    from phasefit.prepare.base import Base
    from phasefit.prepare.specification import SplitSpec

LEAKED = ("keep", "drop-scored", "drop-train")


def without_leaks(
    train: Table,
    validation: Table | None,
    test: Table | None,
    spec: SplitSpec,
    base: Base | None,
    notes: list[str],
) -> tuple[Table, Table | None, Table | None]:
    """The parts without the texts that are on both sides, as `leaked` says."""
    if spec.leaked not in LEAKED:
        raise DataError(f"leaked: unknown choice '{spec.leaked}'; {did_you_mean(spec.leaked, LEAKED)}")
    if spec.leaked == "drop-scored":
        validation = _unknown_rows("validation", validation, train, base, notes)
        test = _unknown_rows("test", test, train, base, notes)
    elif spec.leaked == "drop-train":
        train = _unscored_rows(train, [validation, test], spec.unseen, base, notes)
    return train, validation, test


def without_scored(unlabelled: Table | None, scored: Sequence[Table | None], notes: list[str]) -> Table | None:
    """Unlabelled texts but for those that will be scored: no phase may see them."""
    if unlabelled is None:
        return None
    held_out = shared(unlabelled, [None if table is None else table.flat() for table in scored])
    if not held_out.any():
        return unlabelled
    notes.append(f"{held_out.sum():,} unlabelled texts are also validation or test texts: they are left out")
    return None if held_out.all() else unlabelled.take(np.flatnonzero(~held_out))


def _unknown_rows(part: str, table: Table | None, train: Table, base: Base | None, notes: list[str]) -> Table | None:
    """The rows of a part to be scored whose texts were never trained on, here or in the run before."""
    if table is None:
        return None
    leaked = shared(table, [train])
    if base is not None:
        leaked |= base.knows(table)
    if leaked.all():
        raise DataError(
            f"{table.name}: all {len(table):,} {part} texts are also training texts, and --leaked drop-scored leaves "
            f"none to score; use --leaked drop-train, or give other {part} rows with --{part}"
        )
    if leaked.any():
        notes.append(f"{leaked.sum():,} of the {len(table):,} {part} rows are left out: their texts are trained on")
        table = table.take(np.flatnonzero(~leaked))
    return table


def _unscored_rows(
    train: Table, scored: Sequence[Table | None], unseen: str, base: Base | None, notes: list[str]
) -> Table:
    """The training rows whose texts are not scored."""
    leaked = shared(train, scored)
    if leaked.all():
        raise DataError(
            f"{train.name}: all {len(train):,} training texts are also validation or test texts, and "
            "--leaked drop-train leaves none to train on; use --leaked keep, or give other rows"
        )
    if not leaked.any():
        return train
    left = train.take(np.flatnonzero(~leaked))
    notes.append(
        f"{leaked.sum():,} of the {len(train):,} training rows are left out: they are also validation or test texts"
    )
    gone = _lost_classes(train, left, base)
    if gone:
        problem = f"{_classes(len(gone))} no training row left without those that are scored too, e.g. '{gone[0]}'"
        if unseen == "error":
            raise LabelError(f"{train.name}: {problem}; use --leaked drop-scored, or say --unseen drop or keep")
        notes.append(problem)
    return left


def _lost_classes(train: Table, left: Table, base: Base | None) -> list[str]:
    gone = _names(train) - _names(left)
    return sorted(gone - set(base.space.names if base is not None and base.space is not None else ()))


def _names(table: Table) -> set[str]:
    """The classes of a table; several labels count each for itself, and scores are none."""
    return kind_named(table.label_kind).class_names(table.labels) if table.labels else set()


def _classes(count: int) -> str:
    return "1 class has" if count == 1 else f"{count:,} classes have"
