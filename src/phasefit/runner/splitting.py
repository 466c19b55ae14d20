"""Which rows are trained on, validated on and tested on; what happens to labels and texts that cross the lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from phasefit.data.labels import LabelSpace, label_space
from phasefit.data.splits import sample, split
from phasefit.data.table import Label, Table
from phasefit.errors import DataError, LabelError
from phasefit.runner.request import TrainRequest
from phasefit.store.seen import text_hashes


@dataclass(frozen=True)
class Base:
    """A run to go on from: its name, its classes, and the hashes of the texts it was trained on."""

    name: str
    space: LabelSpace
    seen: np.ndarray

    def knows(self, texts: Sequence[str]) -> np.ndarray:
        """Which of the texts it was trained on."""
        return np.isin(text_hashes(texts), self.seen)


def labels_of(table: Table) -> Sequence[Label]:
    """The labels of a table that must have some."""
    if table.labels is None:
        raise LabelError(f"{table.name} has no labels; name their column with --label")
    return table.labels


def space_of(labels: Sequence[Label], base: LabelSpace | None) -> LabelSpace:
    """The label space of the labels; one to go on from keeps its classes and gets the new ones."""
    if base is None:
        return label_space(labels)
    kind = "tree" if any(isinstance(label, tuple) for label in labels) else "single"
    if kind != base.kind:
        raise LabelError(
            f"the model has labels of kind '{base.kind}', the table of kind '{kind}'; they must be the same"
        )
    return base.extend(labels)


def sampled(train: Table, request: TrainRequest, base: LabelSpace | None, notes: list[str]) -> Table:
    """A stratified sample, if one is asked for."""
    if request.rows is None or request.rows >= len(train):
        return train
    codes = space_of(labels_of(train), base).encode(labels_of(train))
    notes.append(f"a stratified sample of {request.rows:,} of the {len(train):,} rows is used")
    return train.take(sample(codes, request.rows, request.seed))


def split_off(
    train: Table,
    validation: Table | None,
    test: Table | None,
    request: TrainRequest,
    base: Base | None,
    notes: list[str],
) -> tuple[Table, Table | None, Table | None]:
    """Split off what is not given, stratified; rows that the run to go on from was trained on stay in train."""
    shares = {
        "validation": 0.0 if validation is not None else request.validation_size,
        "test": 0.0 if test is not None else request.test_size,
    }
    if not any(shares.values()):
        return train, validation, test
    codes = space_of(labels_of(train), None if base is None else base.space).encode(labels_of(train))
    free = np.arange(len(train)) if base is None else np.flatnonzero(~base.knows(train.texts))
    if base is not None and not len(free):
        notes.append(f"all rows were already trained on by {base.name}: the scores below are too good to be true")
        free = np.arange(len(train))
    parts = split(codes[free], **shares, seed=request.seed)
    if parts.lone:
        notes.append(f"{parts.lone} classes have a single row: it is trained on and never scored")
    validation = train.take(free[parts.validation]) if shares["validation"] else validation
    test = train.take(free[parts.test]) if shares["test"] else test
    for name, table in (("validation", validation), ("test", test)):
        if shares[name] and not len(table or ()):
            raise DataError(f"{train.name} is too small to split off {name} rows; give --{name}, or --{name}-size 0")
    made = " and ".join(f"{share:.0%} for {name}" for name, share in shares.items() if share)
    new = "" if len(free) == len(train) else f" of the {len(free):,} rows that {base.name} has not seen" if base else ""
    notes.append(f"split off, stratified, before training: {made}{new}")
    held_out = np.concatenate([free[parts.validation], free[parts.test]])
    return train.take(np.setdiff1d(np.arange(len(train)), held_out)), validation, test


def known_only(table: Table | None, space: LabelSpace, unseen: str, notes: list[str]) -> Table | None:
    """What to do with labels that no training row has: refuse, leave those rows out, or keep them as mistakes."""
    if table is None:
        return None
    labels = labels_of(table)
    known = np.array([space.knows(label) for label in labels], dtype=bool)
    if known.all():
        return table
    row = int(np.flatnonzero(~known)[0])
    count = f"{(~known).sum()} row{'s' if (~known).sum() > 1 else ''}"
    found = f"{table.name}: {count} with a label that no training row has, e.g. '{space.name(labels[row])}'"
    if unseen == "error":
        raise LabelError(
            f"{found} (row {row + 1}); leave them out with --unseen drop, or count them as mistakes with --unseen keep"
        )
    if unseen == "drop" and not known.any():
        raise LabelError(f"{found} (row {row + 1}), and no row is left without them")
    notes.append(f"{found}: " + ("left out" if unseen == "drop" else "each counts as a mistake"))
    return table.take(np.flatnonzero(known)) if unseen == "drop" else table


def note_repeats(train: Table, scored: Mapping[str, Table | None], base: Base | None, notes: list[str]) -> None:
    """Say how many of the rows to be scored have a text that was trained on, here or in the run before."""
    texts = set(train.texts)
    for name, table in scored.items():
        if table is None:
            continue
        again = sum(text in texts for text in table.texts)
        if again:
            notes.append(f"{again:,} of the {len(table):,} {name} texts are also training texts")
        before = 0 if base is None else int(base.knows(table.texts).sum())
        if base is not None and before:
            notes.append(f"{before:,} of the {len(table):,} {name} texts were trained on by {base.name}")


def without_scored(unlabelled: Table | None, scored: Sequence[Table | None], notes: list[str]) -> Table | None:
    """Unlabelled texts but for those that will be scored: no phase may see them."""
    if unlabelled is None:
        return None
    held_out = {text for table in scored if table is not None for text in table.texts}
    kept = np.array([text not in held_out for text in unlabelled.texts])
    if kept.all():
        return unlabelled
    notes.append(f"{(~kept).sum():,} unlabelled texts are also validation or test texts: they are left out")
    return unlabelled.take(np.flatnonzero(kept)) if kept.any() else None
