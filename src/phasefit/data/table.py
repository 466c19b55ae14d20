"""A Table: texts with, perhaps, their labels, in the order they were read. A Dataset: the tables of one task.

The hash of a dataset's content tells when it changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from phasefit.data.columns import Columns
from phasefit.data.equal_texts import row_hashes, same_text_hashes

if TYPE_CHECKING:
    import pandas as pd

    from phasefit.data.named.cards import Card
ROWS_AT_ONCE = 4096

Label: TypeAlias = str | int | bool | float | tuple[str | int, ...] | frozenset[str | int]
"""A raw label: a name or a number (single), the path of names from the root to the leaf (tree), the set of all that
hold (multi), or a float (score)."""


def label_name(label: Label) -> str:
    """How a label is written, whatever its kind."""
    if isinstance(label, tuple):
        return "/".join(map(str, label))
    if isinstance(label, frozenset):
        return "|".join(sorted(map(str, label)))
    return f"{label:g}" if isinstance(label, float) else str(label)


@dataclass(frozen=True)
class Table:
    """Texts, labels (None where the table has none) and the frame they came from, for `predict` to keep its columns.

    `rows` are the row numbers (from 0) in what was read, for messages; None where the table is all of it. `others` are
    the texts beside each text of a pair (its positive) or of a triple (its positive, its hard negative).
    """

    name: str
    texts: Sequence[str]
    labels: Sequence[Label] | None = None
    frame: pd.DataFrame | None = None
    rows: np.ndarray | None = field(default=None, compare=False)
    columns: Columns | None = field(default=None, compare=False)  # where texts and labels stood
    others: tuple[Sequence[str], ...] = ()
    levels: tuple[str, ...] = ()  # the names of scores 0, 1, 2 ..., where labels are levels of a scale
    kind: str | None = field(default=None, compare=False)  # of the labels; None: what their types speak for

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def same(self) -> np.ndarray:
        """A number per row, equal where texts (of pairs: all of them) are the same but for case and white space."""
        return row_hashes([same_text_hashes(side) for side in self.sides])

    @property
    def sides(self) -> tuple[Sequence[str], ...]:
        """The texts, and those beside them."""
        return (self.texts, *self.others)

    @property
    def inputs(self) -> list[Any]:
        """What a model predicts on: texts, or pairs of them."""
        return list(zip(self.texts, self.others[0], strict=True)) if self.others else list(self.texts)

    @property
    def all_texts(self) -> Iterator[str]:
        """Every text there is, one side after the other."""
        return chain(*self.sides)

    @property
    def label_kind(self) -> str:
        """The kind of the labels."""
        from phasefit.data.labels import kind_by_type  # which needs this file

        return kind_by_type(self.labels or ()) if self.kind is None else self.kind

    @property
    def level_names(self) -> list[str]:
        """The level of each row by its name, where labels are levels of a scale."""
        return [self.levels[int(label)] for label in self.labels or () if isinstance(label, float)]

    def flat(self) -> Table:
        """Each side of a pair or triple as a row of its own, without labels: those were of the whole row."""
        if not self.others:
            return self
        numbers = np.arange(len(self)) if self.rows is None else self.rows
        texts = [text for row in zip(*self.sides, strict=True) for text in row]
        return Table(self.name, texts, rows=np.repeat(numbers, len(self.sides)), columns=self.columns)

    def row_numbers(self, places: np.ndarray) -> np.ndarray:
        """Row numbers, from 1, that the reader of the source would count for these places in the table."""
        return (places if self.rows is None else self.rows[places]) + 1

    def take(self, rows: np.ndarray) -> Table:
        """The rows with these numbers, in this order."""
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        frame = None if self.frame is None else self.frame.iloc[rows].reset_index(drop=True)
        numbers = rows if self.rows is None else self.rows[rows]
        texts, *others = ([side[row] for row in rows] for side in self.sides)
        taken = Table(self.name, texts, labels, frame, numbers, self.columns, tuple(others), self.levels, self.kind)
        if "same" in self.__dict__:  # hashing a million texts takes seconds: once is enough
            taken.__dict__["same"] = self.same[rows]
        return taken


@dataclass(frozen=True)
class Dataset:
    """The splits that a source brings (None where it has none), its card if it is a named one, its content's hash."""

    name: str
    train: Table
    validation: Table | None = None
    test: Table | None = None
    unlabelled: Table | None = None
    card: Card | None = None
    sha256: str = ""


def content_hash(tables: Iterable[Table | None]) -> str:
    """SHA-256 of all texts and labels in order; which table is missing counts too."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(b"-" if table is None else f"{len(table)}:{table.labels is not None};".encode())
        if table is None:
            continue
        if table.others:
            digest.update(f"{len(table.others)} beside;".encode())
        for start in range(0, len(table), ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, len(table))
            # Each piece carries its length, so that no two tables share a stream of bytes.
            pieces = [text.encode() for side in table.sides for text in side[start:stop]]
            if table.labels is not None:
                pieces += [_written(label).encode() for label in table.labels[start:stop]]
            digest.update(b"".join(b"%d:%b" % (len(piece), piece) for piece in pieces))
    return digest.hexdigest()


def _written(label: Label) -> str:
    """A label with its type; a set in an order of its own, which Python's is not."""
    if isinstance(label, frozenset):
        return f"set {sorted(f'{type(part).__name__} {part!r}' for part in label)}"
    return f"{type(label).__name__} {label!r}"
