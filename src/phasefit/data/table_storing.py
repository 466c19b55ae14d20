"""Read the table of a large file piece by piece: its texts go into a temporary file, its labels become numbers.

The table has the same rows, messages and hash as one that is read as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from phasefit.data.checks import Place, check_texts, is_missing
from phasefit.data.coded_labels import CodedLabels, LabelCoder
from phasefit.data.columns import Columns
from phasefit.data.io.frames import FileContent
from phasefit.data.io.pieces import Pieces, ReadAsWhole, large_file
from phasefit.data.labels.kinds import LABEL_KINDS
from phasefit.data.labels.reading import detect_kind
from phasefit.data.stored_texts import TextWriter
from phasefit.data.table import Table
from phasefit.data.table_reading import Options, label_fields, rows_without_text, wanted_columns, with_assumption
from phasefit.errors import DataError


def stored_table(path: Path, name: str, options: Options) -> Table | None:
    """The table of a large file; None if it must be read as a whole."""
    if options.empty == "keep":
        return None
    pieces = large_file(path, options.dialects.of(path))
    if pieces is None:
        return None
    try:
        with with_assumption(pieces.reading):
            return _table(pieces, name, options)
    except ReadAsWhole:
        return None


def _table(pieces: Pieces, name: str, options: Options) -> Table:
    columns = _columns(pieces, options)
    rows = _Rows(columns, options, _place(pieces, options))
    for piece in pieces.read((*columns.texts, *rows.label_columns)):
        rows.append(piece)
    if wanted_columns(pieces.names, options, pieces.path.name) != columns:  # a later object has another key
        return _table(pieces, name, options)
    table = rows.finish(Table(name, [], columns=columns, file=pieces.reading))
    return table.flat() if options.sides == "each" else table


def _columns(pieces: Pieces, options: Options) -> Columns:
    """The columns of texts and labels, as far as the names are known; the first rows usually have all names."""
    where = pieces.path.name
    if not pieces.every_name and not pieces.names:
        next(pieces.read(()), None)
    try:
        return wanted_columns(pieces.names, options, where)
    except DataError:
        if pieces.every_name:
            raise
    for _ in pieces.read(()):
        pass
    return wanted_columns(pieces.names, options, where)


def _place(pieces: Pieces, options: Options) -> Place:
    import pandas as pd

    return Place(pieces.path.name, FileContent(pd.DataFrame(), pieces.reading), may_drop=options.empty == "refuse")


@dataclass
class _Rows:
    """The rows that were read so far."""

    columns: Columns
    options: Options
    place: Place
    total: int = 0  # rows of the source
    dropped: list[np.ndarray] = field(default_factory=list)  # their numbers, from 0

    def __post_init__(self) -> None:
        has_labels = bool(self.columns.labels) and not self.options.no_labels
        self.label_columns = self.columns.labels if has_labels else ()
        self._labels = LabelCoder(is_missing)
        self._texts = [TextWriter() for _ in self.columns.texts]
        self._empty: list[list[int]] = [[] for _ in self.columns.texts]  # rows without a text, by column

    def append(self, piece: Any) -> None:
        """Check and add some rows."""
        sides = [piece[column] for column in self.columns.texts]
        blank = rows_without_text(sides)
        rows = np.flatnonzero(~blank)
        if len(rows) < len(blank):
            self._note_empty(sides, blank)
            sides = [[side[row] for row in rows.tolist()] for side in sides]
        numbers = rows + self.total
        for number, (side, writer) in enumerate(zip(sides, self._texts, strict=True)):
            if len(numbers):
                writer.append(check_texts(side, replace(self._place_of(number), rows=numbers)))
        if self.label_columns:
            values = [piece[column] for column in self.label_columns]
            labels = values[0] if len(values) == 1 else list(zip(*values, strict=True))
            self._labels.append([labels[row] for row in rows.tolist()] if len(rows) < len(blank) else labels, numbers)
        self.total += len(blank)

    def finish(self, bare: Table) -> Table:
        """The table of all rows; DataError for empty cells, unless they are dropped."""
        for number, empty in enumerate(self._empty):
            if empty:
                place = self._place_of(number)
                raise DataError(f"{place.row(empty[0])}: the text is empty or missing{place.advice(empty)}")
        texts, *others = (writer.finish() for writer in self._texts)
        table = replace(bare, texts=texts, others=tuple(others))
        if self.dropped:
            table = replace(table, rows=np.delete(np.arange(self.total), np.concatenate(self.dropped)))
        if self.label_columns and len(table):
            table = self._with_labels(table)
        if not len(table):
            raise DataError(f"{self.place.name}: every row has an empty text or label; check the columns")
        if table.rows is None:
            return table
        gone = np.setdiff1d(np.arange(self.total), table.rows) + 1
        return replace(table, dropped=tuple(gone.tolist()), file=bare.file)

    def _with_labels(self, table: Table) -> Table:
        """The table with its labels; rows without a label are dropped if the user asks for it."""
        coder, codes = self._labels, self._labels.finish()
        values, first = list(coder.values), np.asarray(coder.first)
        if coder.missing is not None and self._drops_unlabelled(values, coder.missing):
            rows = np.flatnonzero(codes != coder.missing)
            table = replace(table.take(rows), file=table.file)
            codes = codes[rows] - (codes[rows] > coder.missing)
            del values[coder.missing]
            first = np.delete(first, coder.missing)
            if not values:
                return table
        copies = np.bincount(codes, minlength=len(values))
        fields = label_fields(values, self.options, replace(self.place, rows=first, copies=copies))
        if not fields:
            return table
        return replace(table, **{**fields, "labels": CodedLabels(fields["labels"], codes)})

    def _drops_unlabelled(self, values: Sequence[Any], missing: int) -> bool:
        options = self.options
        if options.empty != "drop" or not (options.need_labels or options.label):
            return False
        known = [value for code, value in enumerate(values) if code != missing]
        kind = options.reading.stated_kind or detect_kind(known)
        is_set = LABEL_KINDS[kind].answer == "set"  # in which an empty cell is an empty set
        return not is_set and not (options.may_lack and not known)

    def _note_empty(self, sides: Sequence[Sequence[Any]], blank: np.ndarray) -> None:
        if self.options.empty == "drop":
            self.dropped.append(np.flatnonzero(blank) + self.total)
            return
        for empty, side in zip(self._empty, sides, strict=True):
            empty += [row + self.total for row in np.flatnonzero(blank).tolist() if is_missing(side[row])]

    def _place_of(self, number: int) -> Place:
        """The place of a column of texts, which is named if there are several."""
        return replace(self.place, column=self.columns.texts[number]) if self.columns.others else self.place
