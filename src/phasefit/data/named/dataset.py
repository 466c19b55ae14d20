"""A Dataset: the tables of one task, by what they are for, and a hash that tells when they change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phasefit.data.table import Label, Table

if TYPE_CHECKING:
    from phasefit.data.named.card import Card

ROWS_AT_ONCE = 4096


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
