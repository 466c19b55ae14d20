"""Read and write files as pandas frames: CSV, TSV, JSON, Parquet, Excel, lines, also gzipped, by file extension."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from phasefit.data.io import delimited, json_list, jsonl, lines
from phasefit.data.io.dialect import DETECTED, UTF_8, Dialect, FileReading
from phasefit.data.io.encodings import TextFile, legacy_encoding, unicode_encoding
from phasefit.data.io.files import InvalidEncoding, file_format, open_bytes, readable
from phasefit.errors import DataError, did_you_mean
from phasefit.files.atomic import discard_abandoned, write_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FileContent",
    "check_columns",
    "csv_text",
    "free_unused",
    "read_file",
    "read_frame",
    "write_frame",
    "write_rows",
]

FORMATS = ("csv", "tsv", "jsonl", "parquet")
SEPARATORS = {"csv": ",", "tsv": "\t"}
# Spreadsheets read a cell that starts with one of these as a formula, unless it is a number.
_FORMULA = re.compile("[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class FileContent:
    """The rows of a file, and how it was read."""

    frame: pd.DataFrame
    reading: FileReading
    numbers: tuple[int, ...] = ()  # the row of the sheet of each row, in an Excel file

    def location(self, row: int) -> str:
        """The line of a text file, or the row of a sheet, with this row (0-based); empty if the format has neither."""
        if self.numbers:
            return f"sheet row {self.numbers[row]}"
        path, dialect = self.reading.path, self.reading.dialect
        kind = _kind(path)
        if kind == "parquet":
            return ""
        try:
            line = _line_of_row(kind, TextFile(path, dialect.encoding or UTF_8), dialect, row)
        except DataError:  # a file that only the lenient reader accepts: the row number must do
            return ""
        return f"line {line}" if line else ""


def read_frame(path: Path, dialect: Dialect = DETECTED) -> pd.DataFrame:
    """The rows of a file; all CSV and TSV columns are text, without type inference ("NA" stays "NA")."""
    return read_file(path, dialect).frame


def read_file(path: Path, given: Dialect = DETECTED) -> FileContent:
    """The content of a file, read in the given dialect; what is not given is detected."""
    path = Path(path)
    with readable(path):
        if path.is_dir():
            raise IsADirectoryError
        if path.stat().st_size == 0:
            raise DataError(f"{path.name} is empty")
        kind = _kind(path)
        if kind == "parquet":
            return FileContent(_read_parquet(path), FileReading(path))
        return _read_sheet(path, given) if kind == "xlsx" else _read_text(path, kind, given)


def _kind(path: Path) -> str:
    return "lines" if lines.is_lines(path) else file_format(path, also=(lines.ENDING,), reading=True)[0]


def _read_sheet(path: Path, given: Dialect) -> FileContent:
    from phasefit.data.io.workbook import read_sheet

    if path.name.lower().endswith(".gz"):
        raise DataError(f"{path.name}: an Excel file is compressed already; unpack it first")
    sheet = read_sheet(path, given.sheet)
    dialect = Dialect(sheet=sheet.name)
    return FileContent(sheet.frame, _reading(path, dialect, given, sheets=sheet.sheets), sheet.numbers)


def _read_text(path: Path, kind: str, given: Dialect) -> FileContent:
    """Read in the given encoding, as UTF-8 or UTF-16, or as Windows-1252 if the file can hardly be anything else."""
    encoding = given.encoding or unicode_encoding(path)
    try:
        return _read_encoded(path, kind, encoding, given)
    except InvalidEncoding:
        other = legacy_encoding(path) if given.encoding is None and encoding == UTF_8 else None
        if other is None:
            raise
        return _read_encoded(path, kind, other, given)


def _read_encoded(path: Path, kind: str, encoding: str, given: Dialect) -> FileContent:
    file, dialect = TextFile(path, encoding), Dialect(encoding=encoding)
    if kind == "lines":
        frame = lines.read_lines(file)
    elif kind in SEPARATORS:
        mark = given.delimiter or delimited.detect_separator(file, SEPARATORS[kind])
        dialect = replace(dialect, delimiter=mark)
        frame = delimited.read_delimited(file, mark, given=given.delimiter is not None)
    else:
        frame = json_list.read_list(file) if json_list.is_list(file) else jsonl.read_jsonl(file)
    return FileContent(frame, _reading(path, dialect, given, SEPARATORS.get(kind)))


def _reading(path: Path, dialect: Dialect, given: Dialect, usual: str | None = None, sheets: int = 0) -> FileReading:
    assumed = dialect.assumption(given, usual, sheets)
    return FileReading(path, dialect, f"{path.name}: {assumed}" if assumed else "")


def _line_of_row(kind: str, file: TextFile, dialect: Dialect, row: int) -> int | None:
    if kind == "lines":
        return lines.line_of_row(file, row)
    if kind in SEPARATORS:
        return delimited.line_of_row(file, dialect.delimiter or SEPARATORS[kind], row)
    return json_list.line_of_row(file, row) if json_list.is_list(file) else jsonl.line_of_row(file, row)


def free_unused() -> None:
    """Return unused memory to the system: pyarrow keeps it otherwise."""
    pyarrow = sys.modules.get("pyarrow")  # not imported: nothing to release
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet

    content: Any = path
    if path.name.lower().endswith(".gz"):  # Parquet is read from the end, so the whole file is decompressed first
        with open_bytes(path) as file:
            content = io.BytesIO(file.read())
    try:
        table = parquet.read_table(content, partitioning=None)
        table.validate(full=True)  # otherwise invalid UTF-8 fails only when a text is used
    except (pa.ArrowException, OSError, ValueError):
        raise DataError(no_parquet(path)) from None
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise DataError(f"{path.name}: two columns are named '{twice[0]}'; rename one")
    if table.num_rows == 0:
        raise DataError(f"{path.name} has no rows")
    # A named index becomes a column; an unnamed index is dropped.
    try:
        frame: pd.DataFrame = parquet_frame(table)
    except (pa.ArrowException, ValueError, OverflowError):  # e.g. dates out of range
        raise DataError(no_parquet(path)) from None
    return frame[[name for name in frame.columns if not name.startswith("__index_level_")]]


def parquet_frame(table: Any) -> pd.DataFrame:
    """A table of pyarrow as a frame; whole numbers stay whole in columns with nulls, in any part of the table."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    return frame


def no_parquet(path: Path) -> str:
    """The error of a file that pyarrow cannot read."""
    return f"{path.name} is not a Parquet file or is damaged; write or download it again"


def check_columns(frame: pd.DataFrame, path: Path) -> None:
    """Raise a DataError, before any work, if a column cannot be written in the format of the file extension."""
    if file_format(path)[0] != "parquet":  # the other formats take any value
        return
    for name in frame.columns:
        if frame[name].dtype.kind != "O":
            continue
        try:
            with Path(os.devnull).open("wb") as nowhere:
                _write(frame[[name]], nowhere, "parquet")
        except Exception as error:
            kinds = sorted({jsonl.KINDS.get(type(value), "an object") for value in frame[name] if value is not None})
            mixed = f"it contains {', '.join(kinds[:-1])} and {kinds[-1]}" if len(kinds) > 1 else _first_line(error)
            raise DataError(
                f"{path.name}: the column '{name}' cannot be written as Parquet: {mixed}; write to a .jsonl or .csv "
                "file, or give all rows of the column the same type"
            ) from error


def csv_text(frame: pd.DataFrame, *, escape_formulas: bool = False) -> str:
    """The rows as CSV."""
    file = io.BytesIO()
    _write(with_escaped_formulas(frame) if escape_formulas else frame, file, "csv")
    return file.getvalue().decode()


def write_frame(
    frame: pd.DataFrame, path: Path | None, format: str | None = None, *, escape_formulas: bool = False
) -> None:
    """Write to a file atomically, or to standard output if path is None.

    The default format is that of the file extension, and CSV for standard output. `escape_formulas` puts an apostrophe
    before cells that a spreadsheet would compute; it applies to CSV and TSV.
    """
    if escape_formulas:
        frame = with_escaped_formulas(frame)
    if format is not None and format not in FORMATS:
        raise DataError(f"unknown output format '{format}'; {did_you_mean(format, FORMATS)}")
    if path is None:
        _write(frame, sys.stdout.buffer, format or "csv")
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    kind = format or file_format(path)[0]
    zipped = path.name.lower().endswith(".gz")
    try:
        write_file(path, lambda temporary: _write_to(frame, temporary, kind, zipped))
        discard_abandoned(path.parent)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    except UnicodeEncodeError:
        raise DataError(
            f"{path} cannot be written: a text contains a lone surrogate (an incomplete character); fix or remove it"
        ) from None
    except (ValueError, TypeError, OverflowError) as error:  # pyarrow: values that do not fit one type
        raise DataError(f"{path} cannot be written: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def with_escaped_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with an apostrophe before cells and names that a spreadsheet would compute."""
    escaped = frame.rename(columns=_escape_formula)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if column.dtype.kind in "OU" or column.dtype == "str":
            escaped.isetitem(place, [_escape_formula(cell) for cell in column])
    return escaped


def _escape_formula(cell: Any) -> Any:
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def _write_to(frame: pd.DataFrame, path: Path, kind: str, zipped: bool) -> None:
    with path.open("wb") as raw:
        if zipped:
            # Without name and time, the same rows give the same bytes.
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
                _write(frame, cast(IO[bytes], file), kind)
        else:
            _write(frame, raw, kind)


def write_rows(
    frame: pd.DataFrame, file: IO[bytes], kind: str, *, header: bool = True, quote_all: bool | None = None
) -> None:
    """Write CSV, TSV or JSON Lines to an open file; `quote_all` None: if a text has a carriage return."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    if kind == "jsonl":
        text.writelines(_json_lines(frame))
    else:
        separator = "\t" if kind == "tsv" else ","
        quoting = _quoting(frame) if quote_all is None else csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
        frame.to_csv(cast(Any, text), sep=separator, index=False, header=header, lineterminator="\n", quoting=quoting)
    text.flush()
    text.detach()  # the caller closes the file


def _write(frame: pd.DataFrame, file: IO[bytes], kind: str) -> None:
    if kind == "parquet":
        frame.to_parquet(file, index=False)
    else:
        write_rows(frame, file, kind)


def _quoting(frame: pd.DataFrame) -> Literal[0, 1]:
    """Minimal quoting; full quoting if a text has a carriage return, which the csv module leaves unquoted."""
    texts = [column for column in frame.columns if frame[column].dtype.kind in "OU" or frame[column].dtype == "str"]
    bare = any(isinstance(value, str) and "\r" in value for column in texts for value in frame[column])
    return csv.QUOTE_ALL if bare or any("\r" in str(name) for name in frame.columns) else csv.QUOTE_MINIMAL


def _json_lines(frame: pd.DataFrame) -> Iterator[str]:
    names = [str(name) for name in frame.columns]
    for row in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
        record = {name: None if _missing(value) else value for name, value in zip(names, row, strict=True)}
        yield json.dumps(record, ensure_ascii=False, default=_plain) + "\n"


def _missing(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays as Python objects, anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
