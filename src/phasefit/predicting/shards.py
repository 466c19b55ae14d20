"""Shards: ranges of rows of a file, with names that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MANIFEST = "predict.json"  # in an output folder
ROWS = 50_000  # of a shard
FEWEST = 1_000
CELLS = 5_000_000  # numbers of a shard that are held at once, if a row has many


@dataclass(frozen=True)
class Shard:
    """Rows of one input file: the first row (from 0), how many, and where they start in a text file."""

    file: int  # the place of the file in the list of inputs
    first: int
    rows: int
    offset: int = 0  # in bytes of the file as UTF-8
    lines: int = 0  # before the first row

    @property
    def name(self) -> str:
        """The name of its output, without an ending; names sort in the order of the rows."""
        return f"part-{self.file:05d}-{self.first:012d}"


def default_rows(width: int) -> int:
    """The rows of a shard if a row has this number of new numbers: fewer rows for very wide output."""
    return min(ROWS, max(FEWEST, CELLS // max(width, 1)))


def row_group_ranges(sizes: Iterable[int], most: int) -> Iterator[tuple[int, int]]:
    """Ranges (first row, rows): whole row groups of Parquet while they fit; a larger row group is cut."""
    first = rows = 0
    for size in sizes:
        if rows and rows + size > most:
            yield first, rows
            first, rows = first + rows, 0
        rows += size
        while rows > most:
            yield first, most
            first, rows = first + most, rows - most
    if rows:
        yield first, rows
