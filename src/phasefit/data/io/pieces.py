"""Large files piece by piece: the columns that are needed, never the whole file. Parquet, JSON Lines, CSV and TSV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from phasefit.data.io import json_list
from phasefit.data.io.delimited import BadQuoting, detect_separator, read_header
from phasefit.data.io.dialect import Dialect, FileReading
from phasefit.data.io.encodings import TextFile, unicode_encoding
from phasefit.data.io.files import InvalidEncoding, file_format, readable, refuse_other_content
from phasefit.data.io.frames import SEPARATORS, no_parquet, parquet_frame
from phasefit.data.io.records import Cursor, Position, Record, delimited_records, json_records
from phasefit.errors import DataError

LARGE = 128 << 20  # bytes of a file, uncompressed, from which it is read piece by piece
LARGE_ROWS = 1_000_000  # of a Parquet file, whose texts may be much larger than the file
PACKED = 4  # how much smaller texts are with gzip, about
AT_ONCE = 8_192  # rows of a piece
BUFFER = 1 << 20
INDEX = "__index_level_"  # columns of an unnamed pandas index


class ReadAsWhole(Exception):  # noqa: N818 - a request, not an error
    """Only the reader of whole files can decide how this file is read: its encoding or its quotes are unusual."""


class Pieces(ABC):
    """A large file; `names` are its columns, as far as they are known."""

    every_name: ClassVar[bool] = True  # whether all names are known before the rows are read

    def __init__(self, path: Path, reading: FileReading) -> None:
        self.path, self.reading = path, reading
        self.names: list[str] = []

    @abstractmethod
    def read(self, columns: Sequence[str]) -> Iterator[Mapping[str, list[Any]]]:
        """The values of these columns, piece by piece; a column that a piece lacks has None in every row."""


class ParquetPieces(Pieces):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, FileReading(path))
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(path) as file:
                names, rows = file.schema_arrow.names, file.metadata.num_rows
        except (pa.ArrowException, ValueError, OSError) as error:
            raise _damaged(path, error) from None
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise DataError(f"{path.name}: two columns are named '{twice[0]}'; rename one")
        if not rows:
            raise DataError(f"{path.name} has no rows")
        self.names = [name for name in names if not name.startswith(INDEX)]

    def read(self, columns: Sequence[str]) -> Iterator[Mapping[str, list[Any]]]:
        """Columns have the types that reading the whole file gives."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(self.path, buffer_size=BUFFER, pre_buffer=False) as file:
                for batch in file.iter_batches(AT_ONCE, columns=list(columns), use_threads=False):
                    table = pa.Table.from_batches([batch])
                    table.validate(full=True)  # otherwise invalid UTF-8 fails only when a text is used
                    frame = parquet_frame(table)
                    yield {name: frame[name].tolist() for name in columns}
        except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
            raise _damaged(self.path, error) from None


class JsonPieces(Pieces):
    """A file with one JSON object per line; any object may add a column."""

    every_name = False

    def __init__(self, file: TextFile, reading: FileReading) -> None:
        super().__init__(file.path, reading)
        self._file = file
        refuse_other_content(file.path)

    def read(self, columns: Sequence[str]) -> Iterator[Mapping[str, list[Any]]]:
        """Missing keys are None."""
        names = dict.fromkeys(self.names)
        with readable(self.path), closing(Cursor(self._file, returns_end_lines=False)) as cursor:
            rows = 0
            for part in _parts(json_records(cursor, Position(row=1))):
                for record in part:
                    names.update(dict.fromkeys(record.value))
                rows += len(part)
                self.names = list(names)
                yield {name: [record.value.get(name) for record in part] for name in columns}
        if not rows:
            raise DataError(f"{self.path.name} is empty")
        if not names:
            raise DataError(f"{self.path.name}: all objects are empty; give them keys such as text and label")


class DelimitedPieces(Pieces):
    """A CSV or TSV file."""

    def __init__(self, file: TextFile, mark: str, reading: FileReading, *, given: bool) -> None:
        super().__init__(file.path, reading)
        self._file, self._mark = file, mark
        self.names = read_header(file, mark, given)

    def read(self, columns: Sequence[str]) -> Iterator[Mapping[str, list[Any]]]:
        """All cells are texts."""
        places = {name: self.names.index(name) for name in columns}
        with readable(self.path), closing(Cursor(self._file, returns_end_lines=True)) as cursor:
            records = delimited_records(cursor, self._mark, Position(), quoted=True, width=len(self.names))
            next(records)  # the header, checked before
            rows = 0
            for part in _parts(records):
                rows += len(part)
                yield {name: [record.value[place] for record in part] for name, place in places.items()}
        if not rows:
            raise DataError(f"{self.path.name} has no rows, only a header")


def _parts(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Some records at a time; DataError if one cannot be read."""
    while part := list(islice(records, AT_ONCE)):
        problem = next((record.problem for record in part if record.problem is not None), None)
        if isinstance(problem, InvalidEncoding | BadQuoting):
            raise ReadAsWhole
        if problem is not None:
            raise problem
        yield part


def large_file(path: Path, given: Dialect) -> Pieces | None:
    """The pieces of a large file; None if it is small, or in a format that is only read as a whole."""
    with readable(path):
        kind = _kind(path)
        if kind is None or not path.is_file() or not _is_large(path, kind):
            return None
        if kind == "parquet":
            return ParquetPieces(path)
        file = TextFile(path, given.encoding or unicode_encoding(path))
        dialect = Dialect(encoding=file.encoding)
        if kind in SEPARATORS:
            mark = given.delimiter or detect_separator(file, SEPARATORS[kind])
            reading = _reading(path, replace(dialect, delimiter=mark), given, SEPARATORS[kind])
            return DelimitedPieces(file, mark, reading, given=given.delimiter is not None)
        return None if json_list.is_list(file) else JsonPieces(file, _reading(path, dialect, given))


def _reading(path: Path, dialect: Dialect, given: Dialect, usual: str | None = None) -> FileReading:
    assumed = dialect.assumption(given, usual, 0)
    return FileReading(path, dialect, f"{path.name}: {assumed}" if assumed else "")


def _kind(path: Path) -> str | None:
    """The format; None for one that is only read as a whole."""
    try:
        kind, packed = file_format(path, reading=True)
    except DataError:  # the reader of whole files reports it, or reads lines
        return None
    return None if kind == "xlsx" or (kind == "parquet" and packed) else kind


def _is_large(path: Path, kind: str) -> bool:
    size = path.stat().st_size
    if kind != "parquet":
        return size * (PACKED if path.name.lower().endswith(".gz") else 1) >= max(LARGE, 1)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        facts = parquet.read_metadata(path)
    except (pa.ArrowException, ValueError, OSError):
        return False  # the reader of whole files reports what is wrong
    groups = (facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
    return bool(facts.num_rows >= LARGE_ROWS or sum(groups) >= LARGE)


def _damaged(path: Path, error: Exception) -> Exception:
    return error if isinstance(error, DataError | FileNotFoundError | PermissionError) else DataError(no_parquet(path))
