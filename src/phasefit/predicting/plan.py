"""The plan of a file: its columns, how it is read, and its shards. Text files are read once, row by row, to make it.

This first reading finds every row that cannot be read, the columns of all JSON objects, and where shards start.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from phasefit.data.io import json_list
from phasefit.data.io.delimited import TAB, detect_separator, read_header
from phasefit.data.io.dialect import UTF_8, Dialect, FileReading
from phasefit.data.io.encodings import TextFile, legacy_encoding, unicode_encoding
from phasefit.data.io.files import InvalidEncoding, readable, refuse_other_content
from phasefit.data.io.frames import SEPARATORS, no_parquet
from phasefit.data.io.jsonl import as_series
from phasefit.data.io.records import Cursor, Position, Record, delimited_records, json_records
from phasefit.data.table_reading import Options as TableOptions
from phasefit.data.table_reading import wanted_columns
from phasefit.errors import DataError
from phasefit.predicting.inputs import InputFile
from phasefit.predicting.shards import Shard, row_group_ranges

PIECE = 10_000  # objects from which types are inferred at once
INDEX = "__index_level_"  # columns of an unnamed pandas index, which are dropped


@dataclass(frozen=True)
class FilePlan:
    """What every shard of a file needs to know about the whole file."""

    file: InputFile
    columns: tuple[str, ...]
    texts: tuple[str, ...]  # the columns of texts: one, or those of a pair
    rows: int
    encoding: str | None = None
    delimiter: str | None = None
    quoted: bool = True  # whether quotes in CSV and TSV have a meaning
    returns: bool = False  # whether a text contains a carriage return, for which CSV is quoted throughout
    types: str = ""  # of the columns in Parquet output, unless all are texts: a schema of pyarrow, in base64

    @property
    def text_file(self) -> TextFile:
        """The file, read in its encoding."""
        return TextFile(self.file.path, self.encoding or UTF_8)


@dataclass(frozen=True)
class Planning:
    """What the user asks for."""

    shard_rows: int
    skip: bool  # whether unreadable rows are left out instead of refused
    dialect: Dialect
    columns: TableOptions
    with_types: bool  # whether the output is Parquet


@dataclass(frozen=True)
class Planned:
    """A plan, its shards, and how the file was read."""

    plan: FilePlan
    shards: tuple[Shard, ...]
    reading: FileReading


class NoRows(DataError):  # noqa: N818 - named after what is wrong
    """A file is readable and has no rows: other engines write such files for empty partitions."""


def plan_file(number: int, file: InputFile, asked: Planning) -> Planned:
    """The plan of one file; DataError with the row if a row cannot be read, unless such rows are skipped."""
    with readable(file.path):
        return _plan_parquet(number, file, asked) if file.format == "parquet" else _plan_text(number, file, asked)


def _plan_parquet(number: int, file: InputFile, asked: Planning) -> Planned:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with file.path.open("rb") as content, parquet.ParquetFile(content) as opened:
            names = [name for name in opened.schema_arrow.names if not name.startswith(INDEX)]
            schema = pa.schema([field for field in opened.schema_arrow if not field.name.startswith(INDEX)])
            sizes = [opened.metadata.row_group(place).num_rows for place in range(opened.metadata.num_row_groups)]
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError | DataError):
            raise
        raise DataError(no_parquet(file.path)) from None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{file.path.name}: two columns are named '{twice[0]}'; rename one")
    if not sum(sizes):
        raise NoRows(f"{file.path.name} has no rows")
    shards = tuple(Shard(number, first, rows) for first, rows in row_group_ranges(sizes, asked.shard_rows))
    types = _encoded(schema.remove_metadata()) if asked.with_types else ""
    plan = FilePlan(file, tuple(names), _texts(names, file, asked), sum(sizes), types=types)
    return Planned(plan, shards, FileReading(file.path))


def _plan_text(number: int, file: InputFile, asked: Planning) -> Planned:
    encoding = asked.dialect.encoding or unicode_encoding(file.path)
    strict = replace(asked, skip=False)
    try:
        return _plan_encoded(number, file, strict, encoding)
    except InvalidEncoding:
        other = legacy_encoding(file.path) if asked.dialect.encoding is None and encoding == UTF_8 else None
        if other is not None:
            return _plan_encoded(number, file, asked, other)
        if not asked.skip:
            raise
    except DataError:
        if not asked.skip:
            raise
    return _plan_encoded(number, file, asked, encoding)


def _plan_encoded(number: int, file: InputFile, asked: Planning, encoding: str) -> Planned:
    text = TextFile(file.path, encoding)
    dialect = Dialect(encoding=encoding)
    if file.format == "jsonl":
        if json_list.is_list(text):
            raise DataError(f"{text.name} holds a JSON list, which cannot be read in parts; write one object per line")
        refuse_other_content(file.path)
        plan = FilePlan(file, (), (), 0, encoding)
        plan, shards = _plan_objects(number, plan, asked)
    else:
        mark = asked.dialect.delimiter or detect_separator(text, SEPARATORS[file.format])
        dialect = replace(dialect, delimiter=mark)
        names = tuple(read_header(text, mark, asked.dialect.delimiter is not None))
        plan = FilePlan(file, names, (), 0, encoding, mark)
        plan, shards = _plan_rows(number, plan, asked)
    assumed = dialect.assumption(asked.dialect, SEPARATORS.get(file.format), 0)
    reading = FileReading(file.path, dialect, f"{text.name}: {assumed}" if assumed else "")
    return Planned(replace(plan, texts=_texts(plan.columns, file, asked)), shards, reading)


def _plan_rows(number: int, plan: FilePlan, asked: Planning) -> tuple[FilePlan, tuple[Shard, ...]]:
    """A CSV or TSV file; many TSV files contain quotes that have no meaning, so that is tried if quotes are wrong."""
    try:
        return _scan_rows(number, plan, asked.shard_rows, skip=False)
    except DataError:
        if plan.delimiter == TAB:
            try:
                return _scan_rows(number, _unquoted(plan), asked.shard_rows, skip=False)
            except DataError:
                pass  # the first error is the one to report
        if not asked.skip:
            raise
    return _scan_rows(number, plan, asked.shard_rows, skip=True)


def _unquoted(plan: FilePlan) -> FilePlan:
    with closing(Cursor(plan.text_file, returns_end_lines=True)) as cursor:
        names = next(delimited_records(cursor, TAB, Position(), quoted=False, width=None)).value
    if any(name[:1] == '"' == name[-1:] for name in names) or len(set(names)) < len(names):
        raise DataError("the header is quoted")
    return replace(plan, columns=tuple(names), quoted=False)


def _scan_rows(number: int, plan: FilePlan, most: int, *, skip: bool) -> tuple[FilePlan, tuple[Shard, ...]]:
    mark, width, returns = plan.delimiter or ",", len(plan.columns), False
    with closing(Cursor(plan.text_file, returns_end_lines=True)) as cursor:
        records = delimited_records(cursor, mark, Position(), quoted=plan.quoted, width=width)
        next(records)  # the header, checked before
        shards = _Cutting(number, most, cursor)
        for record in records:
            _refuse(record, skip)
            if record.several_lines and record.problem is None:
                returns = returns or any("\r" in cell for cell in record.value)
            shards.add()
    if not shards.rows:
        raise NoRows(f"{plan.file.path.name} has no rows, only a header")
    return replace(plan, rows=shards.rows, returns=returns), tuple(shards.finish())


def _plan_objects(number: int, plan: FilePlan, asked: Planning) -> tuple[FilePlan, tuple[Shard, ...]]:
    names: dict[str, None] = {}
    returns, name = False, plan.file.path.name
    problem: Exception | None = None
    types = _Types(name) if asked.with_types else None
    with closing(Cursor(plan.text_file, returns_end_lines=False)) as cursor:
        shards = _Cutting(number, asked.shard_rows, cursor)
        for record in json_records(cursor, Position(row=1)):
            _refuse(record, asked.skip)
            shards.add()
            problem = problem or record.problem
            if record.problem is None:
                names |= dict.fromkeys(record.value)
                returns = returns or any(isinstance(value, str) and "\r" in value for value in record.value.values())
                if types is not None:
                    types.add(record.value)
    if not shards.rows:
        raise NoRows(f"{name} is empty")
    if not names and problem is not None:
        raise DataError(f"no line of {name} can be used, so its columns are unknown; {problem}")
    if not names:
        raise DataError(f"{name}: all objects are empty; give them keys such as text and label")
    schema = "" if types is None else types.finish(list(names))
    return replace(plan, columns=tuple(names), rows=shards.rows, returns=returns, types=schema), tuple(shards.finish())


def _refuse(record: Record, skip: bool) -> None:
    if record.problem is not None and not skip:
        raise record.problem


def _texts(names: Sequence[str], file: InputFile, asked: Planning) -> tuple[str, ...]:
    return wanted_columns(names, asked.columns, file.path.name).texts


def _encoded(schema: Any) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


class _Cutting:
    """Cuts a text file into shards while it is read; a shard starts where the record before it ends."""

    def __init__(self, number: int, most: int, cursor: Cursor) -> None:
        self._number, self._most, self._cursor = number, most, cursor
        self._starts: list[tuple[int, int, int]] = []
        self._end = (cursor.offset, cursor.lines)  # of the record before
        self.rows = 0

    def add(self) -> None:
        """Count a record that was just read."""
        if self.rows % self._most == 0:
            self._starts.append((self.rows, *self._end))
        self.rows += 1
        self._end = (self._cursor.offset, self._cursor.lines)

    def finish(self) -> Iterator[Shard]:
        """The shards of the file."""
        for first, offset, lines in self._starts:
            yield Shard(self._number, first, min(self._most, self.rows - first), offset, lines)


class _Types:
    """The types of the columns of JSON objects in Parquet, the same for all shards."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._piece: list[dict[str, Any]] = []
        self._schema: Any = None

    def add(self, record: dict[str, Any]) -> None:
        """Note the types of an object."""
        self._piece.append(record)
        if len(self._piece) == PIECE:
            self._infer()

    def finish(self, names: Sequence[str]) -> str:
        """The schema, in base64."""
        import pyarrow as pa

        self._infer()
        return _encoded(pa.schema([self._schema.field(name) for name in names]))

    def _infer(self) -> None:
        import pyarrow as pa

        for name in dict.fromkeys(key for record in self._piece for key in record):
            try:
                values = pa.array(as_series([record.get(name) for record in self._piece]), from_pandas=True)
                found = pa.schema([pa.field(name, pa.string() if values.type == pa.large_string() else values.type)])
                known = [] if self._schema is None else [self._schema]
                self._schema = pa.unify_schemas([*known, found], promote_options="permissive")
            except (pa.ArrowException, ValueError, TypeError, OverflowError):
                raise DataError(
                    f"{self._name}: the column '{name}' cannot be written as Parquet, because its values have "
                    "different types; write JSON Lines or CSV, or give all rows of the column the same type"
                ) from None
        self._piece = []
