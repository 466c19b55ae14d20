"""Rows that are both trained on and scored: `--leaked` drops them, and unlabelled texts that are scored go too."""

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
    """Drop texts on both sides of the split from the side that `leaked` names."""
    if spec.leaked not in LEAKED:
        raise DataError(f"--leaked {spec.leaked}: unknown choice; {did_you_mean(spec.leaked, LEAKED)}")
    if spec.leaked == "drop-scored":
        validation = _unknown_rows("validation", validation, train, base, notes)
        test = _unknown_rows("test", test, train, base, notes)
    elif spec.leaked == "drop-train":
        train = _unscored_rows(train, [validation, test], spec.unseen, base, notes)
    return train, validation, test


def without_scored(unlabelled: Table | None, scored: Sequence[Table | None], notes: list[str]) -> Table | None:
    """Drop unlabelled texts that will be scored: no phase may see them."""
    if unlabelled is None:
        return None
    held_out = shared(unlabelled, [None if table is None else table.flat() for table in scored])
    if not held_out.any():
        return unlabelled
    notes.append(f"unlabelled texts dropped because they are also validation or test texts: {held_out.sum():,}")
    return None if held_out.all() else unlabelled.take(np.flatnonzero(~held_out))


def _unknown_rows(part: str, table: Table | None, train: Table, base: Base | None, notes: list[str]) -> Table | None:
    """The rows to score whose texts are not training texts, neither of this run nor of the base run."""
    if table is None:
        return None
    leaked = shared(table, [train])
    if base is not None:
        leaked |= base.knows(table)
    if leaked.all():
        raise DataError(
            f"{table.name}: all {len(table):,} {part} texts are also training texts, so --leaked drop-scored leaves "
            f"none to score; use --leaked drop-train, or give other {part} rows with --{part}"
        )
    if leaked.any():
        notes.append(f"dropped {leaked.sum():,} of the {len(table):,} {part} rows: their texts are also training texts")
        table = table.take(np.flatnonzero(~leaked))
    return table


def _unscored_rows(
    train: Table, scored: Sequence[Table | None], unseen: str, base: Base | None, notes: list[str]
) -> Table:
    """The training rows whose texts are not scored."""
    leaked = shared(train, scored)
    if leaked.all():
        raise DataError(
            f"{train.name}: all {len(train):,} training texts are also validation or test texts, so "
            "--leaked drop-train leaves none to train on; use --leaked keep, or give other rows"
        )
    if not leaked.any():
        return train
    left = train.take(np.flatnonzero(~leaked))
    notes.append(
        f"dropped {leaked.sum():,} of the {len(train):,} training rows: their texts are also validation or test texts"
    )
    lost = _lost_classes(train, left, base)
    if lost:
        problem = f"{_classes(len(lost))} no training rows left after --leaked drop-train, e.g. '{lost[0]}'"
        if unseen == "error":
            raise LabelError(f"{train.name}: {problem}; use --leaked drop-scored, --unseen drop or --unseen keep")
        notes.append(problem)
    return left


def _lost_classes(train: Table, left: Table, base: Base | None) -> list[str]:
    lost = _names(train) - _names(left)
    return sorted(lost - set(base.space.names if base is not None and base.space is not None else ()))


def _names(table: Table) -> set[str]:
    """The classes of a table: with several labels per text each label is one, with scores there are none."""
    return kind_named(table.label_kind).class_names(table.labels) if table.labels else set()


def _classes(count: int) -> str:
    return "1 class has" if count == 1 else f"{count:,} classes have"
