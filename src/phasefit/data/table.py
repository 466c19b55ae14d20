"""Table: texts and optional labels, in the order they were read. Dataset: the tables of one task.

The hash of a dataset's content detects changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from phasefit.data.coded_labels import CodedLabels
from phasefit.data.columns import Columns
from phasefit.data.equal_texts import row_hashes, same_text_hashes
from phasefit.data.io.dialect import FileReading
from phasefit.data.stored_texts import StoredTexts

if TYPE_CHECKING:
    import pandas as pd

    from phasefit.data.named.cards import Card
ROWS_AT_ONCE = 4096

Label: TypeAlias = str | int | bool | float | tuple[str | int, ...] | frozenset[str | int]
"""A raw label: a name or a number (single), the path of names from the root to the leaf (tree), the set of all labels
of a text (multi), or a float (score)."""


def label_name(label: Label) -> str:
    """The label as text, for any kind."""
    if isinstance(label, tuple):
        return "/".join(map(str, label))
    if isinstance(label, frozenset):
        return "|".join(sorted(map(str, label)))
    return f"{label:g}" if isinstance(label, float) else str(label)


@dataclass(frozen=True)
class Table:
    """Texts, labels (None if the table has none) and their source frame, whose columns `predict` keeps.

    `rows` are row numbers (from 0) in the source, for messages; None if the table is the whole source. `others` are the
    further texts of pairs (the positive) and triples (the positive and the hard negative).
    """

    name: str
    texts: Sequence[str]
    labels: Sequence[Label] | None = None
    frame: pd.DataFrame | None = None
    rows: np.ndarray | None = field(default=None, compare=False)
    columns: Columns | None = field(default=None, compare=False)  # the columns of texts and labels
    others: tuple[Sequence[str], ...] = ()
    levels: tuple[str, ...] = ()  # the names of scores 0, 1, 2 ..., if labels are levels of a scale
    kind: str | None = field(default=None, compare=False)  # the label kind; None: inferred from the types of the labels
    weights: np.ndarray | None = field(default=None, compare=False)  # of the rows in training losses; None: all equal
    file: FileReading | None = field(default=None, compare=False)  # how its file was read; None for other sources
    dropped: tuple[int, ...] = field(default=(), compare=False)  # rows of the source left out for empty cells, from 1
    blank: np.ndarray | None = field(default=None, compare=False)  # rows without a text, if they are kept

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def same(self) -> np.ndarray:
        """One number per row, equal if the texts (of pairs: all of them) differ only in case and white space."""
        return row_hashes([same_text_hashes(side) for side in self.sides])

    @property
    def sides(self) -> tuple[Sequence[str], ...]:
        """The texts and the further texts of pairs or triples."""
        return (self.texts, *self.others)

    @property
    def inputs(self) -> list[Any]:
        """The inputs of a model: texts or pairs of texts."""
        return list(zip(self.texts, self.others[0], strict=True)) if self.others else list(self.texts)

    @property
    def all_texts(self) -> Iterator[str]:
        """All texts, one side after the other."""
        return chain(*self.sides)

    @property
    def label_kind(self) -> str:
        """The kind of the labels."""
        from phasefit.data.labels import kind_by_type  # avoids a circular import

        return kind_by_type(self.labels or ()) if self.kind is None else self.kind

    @property
    def level_names(self) -> list[str]:
        """The level name of each row, if labels are levels of a scale."""
        return [self.levels[int(label)] for label in self.labels or () if isinstance(label, float)]

    def flat(self) -> Table:
        """Each side of a pair or triple as its own row, without labels, because those describe the whole row."""
        if not self.others:
            return self
        numbers = np.arange(len(self)) if self.rows is None else self.rows
        texts = [text for row in zip(*self.sides, strict=True) for text in row]
        rows = np.repeat(numbers, len(self.sides))
        weights = None if self.weights is None else np.repeat(self.weights, len(self.sides))
        own = (self.columns, (), (), None, weights, self.file, self.dropped)
        return Table(self.name, texts, None, None, rows, *own)

    def row_numbers(self, places: np.ndarray) -> np.ndarray:
        """Row numbers in the source, from 1, of these indices of the table."""
        return (places if self.rows is None else self.rows[places]) + 1

    def take(self, rows: np.ndarray) -> Table:
        """The rows with these numbers, in this order."""
        labels: Sequence[Label] | None = self.labels
        if labels is not None:
            labels = labels.take(rows) if isinstance(labels, CodedLabels) else [labels[row] for row in rows]
        frame = None if self.frame is None else self.frame.iloc[rows].reset_index(drop=True)
        numbers = rows if self.rows is None else self.rows[rows]
        texts, *others = (
            side.take(rows) if isinstance(side, StoredTexts) else [side[row] for row in rows] for side in self.sides
        )
        weights = None if self.weights is None else self.weights[rows]
        own = (self.columns, tuple(others), self.levels, self.kind, weights)
        taken = Table(self.name, texts, labels, frame, numbers, *own)
        if "same" in self.__dict__:  # hashing a million texts takes seconds
            taken.__dict__["same"] = self.same[rows]
        return taken


@dataclass(frozen=True)
class Dataset:
    """The splits of a source (None if missing), the card of a named dataset, and the hash of the content."""

    name: str
    train: Table
    validation: Table | None = None
    test: Table | None = None
    unlabelled: Table | None = None
    card: Card | None = None
    sha256: str = ""


def content_hash(tables: Iterable[Table | None]) -> str:
    """SHA-256 of all texts and labels in order; a missing table changes the hash too."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(b"-" if table is None else f"{len(table)}:{table.labels is not None};".encode())
        if table is None:
            continue
        if table.others:
            digest.update(f"{len(table.others)} beside;".encode())
        if table.weights is not None:
            digest.update(table.weights.tobytes())
        coded = table.labels.values if isinstance(table.labels, CodedLabels) else ()
        written = [_written(label).encode() for label in coded]
        for start in range(0, len(table), ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, len(table))
            # Each piece starts with its length, so that no two tables have the same bytes.
            pieces = [text.encode() for side in table.sides for text in side[start:stop]]
            if isinstance(table.labels, CodedLabels):
                pieces += [written[code] for code in table.labels.codes[start:stop].tolist()]
            elif table.labels is not None:
                pieces += [_written(label).encode() for label in table.labels[start:stop]]
            digest.update(b"".join(b"%d:%b" % (len(piece), piece) for piece in pieces))
    return digest.hexdigest()


def _written(label: Label) -> str:
    """A label with its type; sets are sorted, because Python's order varies."""
    if isinstance(label, frozenset):
        return f"set {sorted(f'{type(part).__name__} {part!r}' for part in label)}"
    return f"{type(label).__name__} {label!r}"
