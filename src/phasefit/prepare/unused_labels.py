"""Labels that nobody needs: kept where they can watch over the training, left alone where they cannot."""

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
    """The tables for a recipe that needs no labels: train and validation with labels or both without.

    A test is for the classifier of the run to go on from, if there is one: `base`.
    """
    if test is not None and base is None:
        notes.append(f"{test.name} is not scored: the recipe trains no classifier")
        test = None
    if train.others:
        which = positives_of(train)
        validation = None if validation is None else _together(validation, which, [], [])
        train = _together(train, which, notes, serious) or train  # there is one, or it would not be known which
        why = ""
    else:
        why = _why_left_alone(train, validation, base)
    if why:
        notes.append(why)
    if why or train.others or train.labels is None:
        train, validation = replace(train, labels=None), _unlabelled(validation)
    if base is not None and train.labels is None and test is None:
        serious.append(
            f"the classifier of {base.name} stays as it is while the encoder under it changes, and nothing scores it "
            "here; evaluate it, or train it again, before it is used"
        )
    return train, validation, test


def known_space(base: Base | None) -> LabelSpace:
    """The label space of a run without labels: that of the run it goes on from, or none."""
    return NoLabels() if base is None or base.space is None else base.space


def _why_left_alone(train: Table, validation: Table | None, base: Base | None) -> str:
    """Why labels that seem to be there cannot be used; nothing where they can, or where there are none."""
    names = _listed(train.columns.labels) if train.columns else ""
    if train.labels is None:
        if not names:
            return ""
        of_rows = train.columns is not None and train.columns.others
        return f"the column {names} is left alone: " + (
            "it is about whole rows, not about each text" if of_rows else "it does not hold one class for every text"
        )
    start = f"the labels{f' ({names})' if names else ''} are left alone: "
    classes = len(set(train.labels))
    if base is None and classes < 2:
        return f"{start}there is only one class"
    if base is None and classes > len(train) / 2:
        return f"{start}there are {classes:,} classes for {len(train):,} rows"
    if validation is not None and validation.labels is None:
        return f"{start}{validation.name} has none"
    return ""


def _together(table: Table, which: Positives | None, notes: list[str], serious: list[str]) -> Table | None:
    """The rows whose texts belong together, as far as labels tell; else all, with a warning."""
    if which is None or table.labels is None:
        serious += _taken_as_positive(table)
        return table
    rows = which.rows(table)
    notes.append(f"{len(rows):,} of the {len(table):,} pairs belong together ({which.how}); the others are left out")
    return table.take(rows) if len(rows) else None


def _taken_as_positive(train: Table) -> list[str]:
    names = _listed(train.columns.labels) if train.columns else ""
    if not names and train.labels is None:
        return []
    what = f"column {names}" if names else "label"
    return [
        f"every row of {train.name} is taken as texts that belong together, whatever its {what} says; keep only the "
        "rows for which that is so"
    ]


def _unlabelled(table: Table | None) -> Table | None:
    return None if table is None else replace(table, labels=None)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
