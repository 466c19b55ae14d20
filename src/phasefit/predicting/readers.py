"""The rows of a shard, read in the way that the plan of its file settles."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phasefit.data.io.files import readable
from phasefit.data.io.frames import no_parquet, parquet_frame
from phasefit.data.io.jsonl import as_series
from phasefit.data.io.records import Cursor, Position, Record, delimited_records, json_records
from phasefit.errors import DataError
from phasefit.predicting.inputs import input_file
from phasefit.predicting.plan import INDEX, FilePlan
from phasefit.predicting.shards import Shard

if TYPE_CHECKING:
    import pandas as pd

BATCH = 8_192  # rows of Parquet that are decoded at once
BUFFER = 1 << 20


@dataclass(frozen=True)
class Skipped:
    """A row that is left out: its number from 1, its line if the file has lines, and why."""

    row: int
    line: int | None
    reason: str


@dataclass
class ShardRows:
    """The readable rows of a shard, their numbers and lines, and the rows that were left out."""

    frame: pd.DataFrame
    numbers: list[int]
    lines: list[int] | None
    skipped: list[Skipped] = field(default_factory=list)
    table: Any = None  # of pyarrow, with the types of a Parquet file

    def line(self, place: int) -> int | None:
        """The line of a row, by its place among the readable ones."""
        return None if self.lines is None else self.lines[place]

    def keep(self, places: list[int]) -> ShardRows:
        """Only the rows in these places."""
        return ShardRows(
            self.frame.iloc[places].reset_index(drop=True),
            [self.numbers[place] for place in places],
            None if self.lines is None else [self.lines[place] for place in places],
            self.skipped,
            None if self.table is None else _take(self.table, places),
        )


class Reader:
    """Reads shards of one file; shards in order continue the open file, which matters for gzip."""

    def __init__(self, plan: FilePlan) -> None:
        self.plan = plan
        self._cursor = Cursor(plan.text_file, returns_end_lines=plan.file.format != "jsonl")

    def read(self, shard: Shard, *, skip: bool) -> ShardRows:
        """The rows of a shard; DataError if one cannot be read, unless such rows are skipped."""
        if input_file(self.plan.file.name) != self.plan.file:
            raise DataError(f"{self.plan.file.path.name} changed while it was read; repeat the command")
        with readable(self.plan.file.path):
            if self.plan.file.format == "parquet":
                return _read_row_groups(self.plan, shard, skip)
            return self._read_records(shard, skip)

    def close(self) -> None:
        """Close the file."""
        self._cursor.close()

    def _read_records(self, shard: Shard, skip: bool) -> ShardRows:
        is_json, names = self.plan.file.format == "jsonl", self.plan.columns
        cells: list[list[str]] = [[] for _ in names]  # no list per row: the garbage collector visits them all
        objects: list[dict[str, Any]] = []
        numbers: list[int] = []
        lines: list[int] = []
        skipped: list[Skipped] = []
        start = Position(shard.offset, shard.lines, shard.first + 1)
        for _, record in zip(range(shard.rows), self._records(start), strict=False):
            if record.problem is None:
                numbers.append(record.row)
                lines.append(record.line)
                if is_json:
                    objects.append(record.value)
                else:
                    for column, cell in zip(cells, record.value, strict=True):
                        column.append(cell)
            elif skip:
                skipped.append(Skipped(record.row, record.line, str(record.problem)))
            else:
                raise record.problem
        if len(numbers) + len(skipped) != shard.rows:
            raise DataError(f"{self.plan.file.path.name} changed while it was read; repeat the command")
        frame = _object_frame(objects, names) if is_json else _cell_frame(cells, names)
        return ShardRows(frame, numbers, lines, skipped)

    def _records(self, start: Position) -> Iterator[Record]:
        plan = self.plan
        if plan.file.format == "jsonl":
            return json_records(self._cursor, start)
        mark, width = plan.delimiter or ",", len(plan.columns)
        return delimited_records(self._cursor, mark, start, quoted=plan.quoted, width=width)


def schema_of(plan: FilePlan) -> Any:
    """The types of the columns of a text file in Parquet output."""
    import pyarrow as pa

    if not plan.types:
        return pa.schema([(name, pa.string()) for name in plan.columns])
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(plan.types)))
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"the manifest is damaged ({error}); use --overwrite to start again") from None


def _cell_frame(columns: Sequence[Sequence[str]], names: Sequence[str]) -> pd.DataFrame:
    import pyarrow as pa

    arrays = [pa.array(column, pa.string()) for column in columns]
    frame: pd.DataFrame = pa.table(arrays, names=list(names)).to_pandas()
    return frame


def _object_frame(records: Sequence[dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns = {name: as_series([record.get(name) for record in records]) for name in names}
    return pd.DataFrame(columns, index=range(len(records)))


def _read_row_groups(plan: FilePlan, shard: Shard, skip: bool) -> ShardRows:
    import pyarrow as pa
    from pyarrow import parquet

    stop = shard.first + shard.rows
    try:
        with (
            plan.file.path.open("rb") as content,
            parquet.ParquetFile(content, buffer_size=BUFFER, pre_buffer=False) as opened,
        ):
            groups: list[int] = []
            begin = row = 0
            for group in range(opened.metadata.num_row_groups):
                size = opened.metadata.row_group(group).num_rows
                if row < stop and row + size > shard.first:
                    begin = row if not groups else begin
                    groups.append(group)
                row += size
            schema = pa.schema([field for field in opened.schema_arrow if not field.name.startswith(INDEX)])
            parts = []
            for batch in opened.iter_batches(BATCH, row_groups=groups, columns=None, use_threads=False):
                first, last = max(shard.first - begin, 0), min(stop - begin, batch.num_rows)
                if last > first:
                    parts.append(batch.slice(first, last - first).select(schema.names))
                begin += batch.num_rows
                if begin >= stop:
                    break
        table = pa.Table.from_batches(parts, schema).combine_chunks()
        numbers = list(range(shard.first + 1, stop + 1))
        bad: dict[int, str] = {}
        try:
            table.validate(full=True)  # otherwise invalid UTF-8 fails only when a text is used
        except pa.ArrowException:
            bad = _invalid_rows(plan, table, numbers)
            if not bad:
                raise
        if bad and not skip:
            raise DataError(next(iter(bad.values())))
        if bad:
            table = _take(table, [place for place in range(table.num_rows) if place not in bad])
        skipped = [Skipped(numbers[place], None, reason) for place, reason in bad.items()]
        kept = [number for place, number in enumerate(numbers) if place not in bad]
        return ShardRows(parquet_frame(table), kept, None, skipped, table.replace_schema_metadata(None))
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        if isinstance(error, DataError | FileNotFoundError | PermissionError):
            raise
        raise DataError(no_parquet(plan.file.path)) from None


def _take(table: Any, places: list[int]) -> Any:
    """Only the rows in these places, perhaps none: an empty list would have no type."""
    import pyarrow as pa

    return table.take(pa.array(places, pa.int64()))


def _invalid_rows(plan: FilePlan, table: Any, numbers: Sequence[int]) -> dict[int, str]:
    """The places of rows with a text that is not UTF-8, and the reasons."""
    import pyarrow as pa

    bad: dict[int, str] = {}
    for name in table.column_names:
        column = table[name]
        if column.type not in (pa.string(), pa.large_string()):
            continue
        for place, value in enumerate(column.cast(pa.large_binary()).to_pylist()):
            try:
                (value or b"").decode("utf-8")
            except UnicodeDecodeError:
                where = f"{plan.file.path.name}, row {numbers[place]}, column '{name}'"
                bad.setdefault(place, f"{where}: invalid UTF-8; write the file again")
    return dict(sorted(bad.items()))
