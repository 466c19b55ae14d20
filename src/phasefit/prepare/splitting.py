"""Which rows are in train, validation and test, and what happens to labels that are missing from train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from phasefit.data.labels import LabelSpace, label_space
from phasefit.data.splits import Splits, sample, split
from phasefit.data.table import Label, Table
from phasefit.errors import DataError, LabelError
from phasefit.kinds import kind_named, kind_of
from phasefit.prepare.base import Base
from phasefit.prepare.notes import few_rows_note
from phasefit.prepare.specification import SplitSpec
from phasefit.seeds import generator

MOST_HELD_OUT = 100_000  # rows that are split off for validation or test; their accuracy is exact to 0.2 points


def labels_of(table: Table) -> Sequence[Label]:
    """The labels of a table that needs them."""
    if table.labels is None:
        raise LabelError(f"{table.name} has no labels; name the label column with --label")
    return table.labels


def space_of(table: Table, base: LabelSpace | None) -> LabelSpace:
    """The label space of a table; a base space keeps its classes and gets the new ones."""
    labels = labels_of(table)
    if base is None:
        space = label_space(labels, table.label_kind, table.name, table.levels)
        kind_of(space).check_table(space, table.name)
        return space
    kind = table.label_kind
    if kind != base.kind:
        raise LabelError(
            f"the model has labels of kind '{base.kind}', but the table has kind '{kind}'; they must be the same"
        )
    kind_of(base).check_same(base, table.levels)
    return base.extend(labels)


def sampled(train: Table, rows: int | None, seed: int, base: LabelSpace | None, notes: list[str]) -> Table:
    """A sample of the training rows if `rows` is set; stratified if there are labels."""
    if rows is None or rows >= len(train):
        return train
    codes = _strata(train, base)
    how = "random" if train.labels is None else "stratified"
    notes.append(f"using a {how} sample of {rows:,} of the {len(train):,} training rows")
    return train.take(sample(codes, rows, seed))


def subsample(table: Table | None, rows: int | None, seed: int, what: str, notes: list[str]) -> Table | None:
    """At most `rows` rows of a table, drawn at random, so that the class distribution is kept."""
    if table is None or rows is None or rows >= len(table):
        return table
    notes.append(f"using a random sample of {rows:,} of the {len(table):,} {what} rows")
    return table.take(np.sort(generator(seed, "cut", what).permutation(len(table))[:rows]))


def split_off(
    train: Table,
    validation: Table | None,
    test: Table | None,
    spec: SplitSpec,
    seed: int,
    base: Base | None,
    notes: list[str],
) -> tuple[Table, Table | None, Table | None]:
    """Split off the missing parts, stratified, or at random without labels.

    Rows that the base run was trained on stay in train.
    """
    shares = {
        "validation": 0.0 if validation is not None else spec.validation_size,
        "test": 0.0 if test is not None else spec.test_size,
    }
    if not any(shares.values()):
        return train, validation, test
    asked, shares = shares, {name: min(share, MOST_HELD_OUT / len(train)) for name, share in shares.items()}
    codes = _strata(train, None if base is None else base.space)
    free = np.arange(len(train)) if base is None else np.flatnonzero(~base.knows(train))
    if base is not None and not len(free):
        notes.append(f"{base.name} was already trained on all of these rows: scores on them are too optimistic")
        free = np.arange(len(train))
    drawn = split(codes[free], **shares, seed=seed, same=train.same[free])
    held = {"validation": free[drawn.validation], "test": free[drawn.test]}
    if train.labels:
        held = kind_named(train.label_kind).trainable(held, train.labels)
    for name, rows in held.items():
        if shares[name] and not len(rows):
            classes = train.labels is not None and kind_named(train.label_kind).has_classes
            where = " per class" if classes else ""
            raise DataError(
                f"{train.name}: no {name} rows can be split off: too few distinct texts{where}; give --{name}, or use "
                f"--{name}-size 0"
            )
    parts = " and ".join(f"{_part(asked[name], share)} for {name}" for name, share in shares.items() if share)
    how = "at random" if train.labels is None else "stratified"
    note = f"split off before training ({how}): {parts}"
    if base is not None and len(free) < len(train):
        note += f", from the {len(free):,} rows that {base.name} was not trained on"
    if asked != shares:
        note += "; to score more rows, give them with --validation and --test"
    notes.append(note)
    if train.labels is not None:
        _note_small_classes(codes, free, drawn, notes)
    validation = train.take(held["validation"]) if shares["validation"] else validation
    test = train.take(held["test"]) if shares["test"] else test
    trained = np.delete(np.arange(len(train)), np.concatenate(list(held.values())))
    return train.take(trained), validation, test


def _part(asked: float, share: float) -> str:
    """The share of the rows that is split off, or their number if the share is limited."""
    return f"{asked:.0%}" if share == asked else f"{MOST_HELD_OUT:,} rows instead of {asked:.0%}"


def _strata(table: Table, base: LabelSpace | None) -> np.ndarray:
    """The strata to sample from: the classes, or a single one without labels."""
    if table.labels is None:
        return np.zeros(len(table), dtype=np.int64)
    return space_of(table, base).encode(table.labels)


def _note_small_classes(codes: np.ndarray, free: np.ndarray, parts: Splits, notes: list[str]) -> None:
    note = few_rows_note(codes, free[parts.validation], free[parts.test])
    if note:
        notes.append(note)
    copies = parts.lone - int((np.bincount(codes[free]) == 1).sum())
    if copies:
        many = "1 class has" if copies == 1 else f"{copies:,} classes have"
        notes.append(f"{many} a single text in several copies (in train only, never scored)")


def known_only(table: Table | None, space: LabelSpace, unseen: str, notes: list[str]) -> Table | None:
    """Handle labels that are not in the training rows: refuse them, drop those rows, or keep them as mistakes."""
    if table is None:
        return None
    labels = labels_of(table)
    known = np.array([space.knows(label) for label in labels], dtype=bool)
    if known.all():
        return table
    row = int(np.flatnonzero(~known)[0])
    number = table.row_numbers(np.array(row))
    count = f"{(~known).sum()} row{'s' if (~known).sum() > 1 else ''}"
    problem = f"{table.name}: {count} with a label that is not in the training rows, e.g. '{space.name(labels[row])}'"
    if not known.any() and unseen != "keep":
        trained = ", ".join(f"'{name}'" for name in space.names[:5]) + (" ..." if len(space) > 5 else "")
        raise LabelError(
            f"{table.name}: no row has a label of the training rows, e.g. row {number}: '{space.name(labels[row])}' "
            f"(training labels: {trained}); check the file and --label"
        )
    if unseen == "error":
        raise LabelError(
            f"{problem} (row {number}); drop them with --unseen drop, or count them as mistakes with --unseen keep"
        )
    notes.append(f"{problem}: " + ("dropped" if unseen == "drop" else "counted as mistakes"))
    return table.take(np.flatnonzero(known)) if unseen == "drop" else table


def note_known(scored: Mapping[str, Table | None], base: Base | None, notes: list[str]) -> None:
    """Note how many of the rows to score have a text that the base run was trained on."""
    for name, table in scored.items():
        known = 0 if base is None or table is None else int(base.knows(table).sum())
        if base is not None and table is not None and known:
            notes.append(f"{known:,} of the {len(table):,} texts in '{name}' were used to train {base.name}")
