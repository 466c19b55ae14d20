"""From a request to rows: tables read, labels coded, splits made, before anything is trained. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phasefit.data.dataset import content_hash
from phasefit.data.labels import LabelSpace, label_space
from phasefit.data.sources import read_dataset, read_table
from phasefit.data.splits import sample, split
from phasefit.data.table import Label, Table
from phasefit.errors import DataError, LabelError
from phasefit.runner.request import TrainRequest


@dataclass(frozen=True)
class Prepared:
    """The tables of a run after splitting, the label space, and what is worth telling about them."""

    name: str
    space: LabelSpace
    train: Table
    validation: Table | None
    test: Table | None
    unlabelled: Table | None
    sha256: str
    notes: list[str] = field(default_factory=list)

    def codes(self, table: Table | None) -> np.ndarray:
        """Class codes of a table of this run."""
        return np.empty(0, np.int64) if table is None else self.space.encode(labels_of(table), where=table.name)

    def facts(self) -> dict[str, object]:
        """Sizes for the record."""
        counts = np.bincount(self.codes(self.train), minlength=len(self.space))
        sizes = {
            part: len(table)
            for part in ("train", "validation", "test", "unlabelled")
            if (table := getattr(self, part)) is not None
        }
        return {
            "data": self.name,
            "rows": sizes,
            "classes": len(self.space),
            "kind": self.space.kind,
            "imbalance": round(float(counts.max() / max(counts[counts > 0].min(), 1)), 2),
            "sha256": self.sha256,
        }


def prepare(request: TrainRequest, base: LabelSpace | None = None) -> Prepared:
    """Read and split; `base` is the label space of a run to go on from, whose classes stay."""
    options: dict[str, Any] = {
        "text": request.text,
        "label": request.label,
        "tree": request.tree,
        "data_dir": request.data_dir,
    }
    dataset = read_dataset(request.data, **options)
    validation, test, unlabelled = dataset.validation, dataset.test, dataset.unlabelled
    if request.validation is not None:
        validation = read_table(request.validation, split="validation", what="validation", **options)
    if request.test is not None:
        test = read_table(request.test, split="test", what="test", **options)
    if request.unlabelled is not None:
        more = {**options, "label": (), "tree": None, "need_labels": False}
        unlabelled = read_table(request.unlabelled, what="unlabelled", **more)
    sha256 = content_hash([dataset.train, validation, test, unlabelled])

    notes: list[str] = []
    unlabelled = _texts_without_labels(test, unlabelled, notes)
    test = test if test is not None and test.labels is not None else None
    validation = validation if validation is not None and validation.labels is not None else None
    train = _sampled(dataset.train, request, notes)
    train, validation, test = _split(train, validation, test, request, notes)
    space = _space(labels_of(train), base)
    validation, space = _known_only(validation, space, request.unseen, notes)
    test, space = _known_only(test, space, request.unseen, notes)
    return Prepared(dataset.name, space, train, validation, test, unlabelled, sha256, notes)


def labels_of(table: Table) -> Sequence[Label]:
    """The labels of a table that must have some."""
    if table.labels is None:
        raise LabelError(f"{table.name} has no labels; name their column with --label")
    return table.labels


def _space(labels: Sequence[Label], base: LabelSpace | None) -> LabelSpace:
    if base is None:
        return label_space(labels)
    kind = "tree" if any(isinstance(label, tuple) for label in labels) else "single"
    if kind != base.kind:
        raise LabelError(
            f"the model has labels of kind '{base.kind}', the table of kind '{kind}'; they must be the same"
        )
    return base.extend(labels)


def _sampled(train: Table, request: TrainRequest, notes: list[str]) -> Table:
    if request.rows is None or request.rows >= len(train):
        return train
    codes = label_space(labels_of(train)).encode(labels_of(train))
    notes.append(f"a stratified sample of {request.rows:,} of the {len(train):,} rows is used")
    return train.take(sample(codes, request.rows, request.seed))


def _split(
    train: Table, validation: Table | None, test: Table | None, request: TrainRequest, notes: list[str]
) -> tuple[Table, Table | None, Table | None]:
    """Split off what is not given, stratified."""
    shares = {
        "validation": 0.0 if validation is not None else request.validation_size,
        "test": 0.0 if test is not None else request.test_size,
    }
    if not any(shares.values()):
        return train, validation, test
    codes = label_space(labels_of(train)).encode(labels_of(train))
    parts = split(codes, **shares, seed=request.seed)
    if parts.lone:
        notes.append(f"{parts.lone} classes have a single row: it is trained on and never scored")
    validation = train.take(parts.validation) if shares["validation"] else validation
    test = train.take(parts.test) if shares["test"] else test
    for name, table in (("validation", validation), ("test", test)):
        if shares[name] and not len(table or ()):
            raise DataError(f"{train.name} is too small to split off {name} rows; give --{name}, or --{name}-size 0")
    made = " and ".join(f"{share:.0%} for {name}" for name, share in shares.items() if share)
    notes.append(f"split off, stratified, before training: {made}")
    return train.take(parts.train), validation, test


def _known_only(
    table: Table | None, space: LabelSpace, unseen: str, notes: list[str]
) -> tuple[Table | None, LabelSpace]:
    """What to do with labels that no training row has: refuse, leave those rows out, or count them as mistakes."""
    if table is None:
        return None, space
    labels = labels_of(table)
    known = np.array([space.knows(label) for label in labels])
    if known.all():
        return table, space
    row = int(np.flatnonzero(~known)[0])
    found = (
        f"{table.name}: {(~known).sum()} rows have a label that no training row has, e.g. '{space.name(labels[row])}'"
    )
    if unseen == "error":
        raise LabelError(
            f"{found} (row {row + 1}); leave them out with --unseen drop, or count them as mistakes with --unseen keep"
        )
    notes.append(f"{found}: " + ("they are left out" if unseen == "drop" else "each counts as a mistake"))
    if unseen == "drop":
        return table.take(np.flatnonzero(known)), space
    return table, space.extend(labels)


def _texts_without_labels(test: Table | None, unlabelled: Table | None, notes: list[str]) -> Table | None:
    """A test table without labels will never be scored: it is left alone, and the user hears of it."""
    if test is not None and test.labels is None:
        notes.append(f"{test.name} has no labels: it is not scored; give it as --unlabelled to learn from its texts")
    return unlabelled
