"""Labels that the recipe does not need: kept if they can serve to evaluate training, ignored otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from phasefit.data.labels import LabelSpace, NoLabels
from phasefit.data.positives import Positives, positives_of
from phasefit.data.table import Table

if TYPE_CHECKING:
    from phasefit.prepare.base import Base


def drop_unused_labels(
    train: Table,
    validation: Table | None,
    test: Table | None,
    base: Base | None,
    notes: list[str],
    serious: list[str],
) -> tuple[Table, Table | None, Table | None]:
    """The tables for a recipe that needs no labels: train and validation both with labels or both without.

    A test table is kept only for the classifier of `base`, the run to continue from.
    """
    if test is not None and base is None:
        notes.append(f"{test.name} is not scored: the recipe trains no classifier")
        test = None
    if train.others:
        which = positives_of(train)
        validation = None if validation is None else _positive_pairs(validation, which, [], [])
        train = _positive_pairs(train, which, notes, serious) or train  # never None: `which` comes from its rows
        reason = ""
    else:
        reason = _why_ignored(train, validation, base)
    if reason:
        notes.append(reason)
    if reason or train.others or train.labels is None:
        train, validation = replace(train, labels=None), _unlabelled(validation)
    if base is not None and train.labels is None and test is None:
        serious.append(
            f"this run changes the encoder but neither trains nor scores the classifier of {base.name}; evaluate or "
            "retrain the classifier before you use it"
        )
    return train, validation, test


def known_space(base: Base | None) -> LabelSpace:
    """The label space of a run without labels: that of the run it continues from, if any."""
    return NoLabels() if base is None or base.space is None else base.space


def _why_ignored(train: Table, validation: Table | None, base: Base | None) -> str:
    """Why the labels of a table cannot be used; empty if they can, or if there are none."""
    names = _listed(train.columns.labels) if train.columns else ""
    if train.labels is None:
        if not names:
            return ""
        of_rows = train.columns is not None and train.columns.others
        return f"ignoring the label column {names}: " + (
            "it describes whole rows, not single texts" if of_rows else "it does not have one class for every text"
        )
    start = f"ignoring the labels{f' ({names})' if names else ''}: "
    classes = len(set(train.labels))
    if base is None and classes < 2:
        return f"{start}there is only one class"
    if base is None and classes > len(train) / 2:
        return f"{start}there are {classes:,} classes for {len(train):,} rows"
    if validation is not None and validation.labels is None:
        return f"{start}{validation.name} has no labels"
    return ""


def _positive_pairs(table: Table, which: Positives | None, notes: list[str], serious: list[str]) -> Table | None:
    """The rows whose texts belong together; all rows, with a warning, if the labels do not show which."""
    if which is None or table.labels is None:
        serious += _all_positive(table)
        return table
    rows = which.rows(table)
    notes.append(f"{len(rows):,} of the {len(table):,} pairs are positive pairs ({which.how}); the others are dropped")
    return table.take(rows) if len(rows) else None


def _all_positive(train: Table) -> list[str]:
    names = _listed(train.columns.labels) if train.columns else ""
    if not names and train.labels is None:
        return []
    ignored = f"column {names}" if names else "label"
    return [
        f"every row of {train.name} is used as a positive pair and its {ignored} is ignored; remove the rows whose "
        "texts do not belong together"
    ]


def _unlabelled(table: Table | None) -> Table | None:
    return None if table is None else replace(table, labels=None)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
