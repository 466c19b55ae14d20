"""CSV and TSV: pyarrow reads all columns as text; if it fails, the file is read row by row to find the bad row."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.io.files import START, open_bytes, refuse_other_content
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 16 << 20  # pyarrow needs each record within two blocks; 16 MB is enough for any realistic text


def read_delimited(path: Path, separator: str) -> pd.DataFrame:
    """A frame of text columns; ragged rows, invalid UTF-8, NUL and unclosed quotes raise an error with the row."""
    names = _header(path, separator)
    try:
        table = _read_fast(path, separator, names, quoted=True)
    except ValueError:
        table = _reread(path, separator, names)
    if table.num_rows == 0:
        raise DataError(f"{path.name} has no rows, only a header")
    _refuse_nul(table, path, separator)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def line_of_row(path: Path, separator: str, row: int) -> int | None:
    """The line of the file where this data row (0-based) ends; None if there is no such row."""
    for number, (_, line) in enumerate(_records(path, separator)):
        if number == row + 1:
            return line
    return None


def _header(path: Path, separator: str) -> list[str]:
    refuse_other_content(path)
    _refuse_json(path)
    records = _records(path, separator)
    record, _ = next(records, ([], 0))
    if not record:
        raise DataError(f"{path.name} is empty")
    names = [_checked(name, path, 0, 1) for name in record]
    if not any(name.strip() for name in names):
        if any(cell.strip() for row, _ in records for cell in row):
            raise DataError(f"{path.name}: the first line has no column names; add a header such as text,label")
        raise DataError(f"{path.name} is empty: it contains only white space")
    other = next((mark for mark in (";", "\t", "|") if mark != separator and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        shown = "a tab" if other == "\t" else f"'{other}'"
        raise DataError(f"{path.name} seems to be separated by {shown}; save it with commas, or as .tsv with tabs")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path.name}: two columns are named '{twice[0]}'; rename one")
    return names


def _refuse_json(path: Path) -> None:
    with open_bytes(path) as file:
        start = file.read(START).lstrip()
    if start.startswith((b'{"', b'[{"')):
        raise DataError(f"{path.name} seems to be JSON; write one object per line and name it .jsonl")


def _read_fast(path: Path, separator: str, names: list[str], *, quoted: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    with open_bytes(path) as file:
        table = arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(block_size=BLOCK, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator, quote_char='"' if quoted else False, newlines_in_values=quoted
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=False
            ),
        )
    # pyarrow accepts a stray quote, which then swallows the rows up to the next quote. If a cell has several lines, the
    # strict reader checks the file as well.
    if quoted and any(pc.any(pc.match_substring(column, "\n")).as_py() for column in table.columns):
        _diagnose(path, separator, len(names))
    return table


def _reread(path: Path, separator: str, names: list[str]) -> Any:
    """Read again after a failure: raise the error with its row, or return the table if only pyarrow failed."""
    try:
        return _diagnose(path, separator, len(names), keep=True)
    except DataError:
        if separator != "\t":
            raise
        # Many TSV files do not use quoting but contain quote characters; accept the file if every row fits that way
        # and the header does not show that it uses quoting.
        try:
            table = _read_fast(path, separator, names, quoted=False)
        except ValueError:
            table = None
        if table is None or any(name[:1] == '"' == name[-1:] for name in table.column_names):
            raise
        return table


def _diagnose(path: Path, separator: str, width: int, *, keep: bool = False) -> Any:
    """Read row by row and raise at the first bad row."""
    import pyarrow as pa

    rows: list[list[str]] = []
    header: list[str] = []
    for number, (record, line) in enumerate(_records(path, separator)):
        if len(record) != width:
            where = f"{path.name}, row {number} (line {line})"
            problem = f"expected {width} columns, found {len(record)}"
            raise DataError(f"{where}: {problem}; is a quote or a separator missing?")
        cells = [_checked(cell, path, number, line) for cell in record]
        if number == 0:
            header = cells
        elif keep:
            rows.append(cells)
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return pa.table({name: pa.array(list(column), pa.string()) for name, column in zip(header, columns, strict=True)})


def _checked(cell: str, path: Path, row: int, line: int) -> str:
    """The cell; DataError for invalid UTF-8 or NUL."""
    try:
        cell.encode()
    except UnicodeEncodeError:
        place = f"row {row} (line {line})" if row else "the header"
        raise DataError(f"{path.name}, {place}: invalid UTF-8; save the file as UTF-8") from None
    if "\0" in cell:
        raise DataError(_nul(path, row, line))
    return cell


def _records(path: Path, separator: str) -> Iterator[tuple[list[str], int]]:
    """Records with their line numbers, without blank lines; invalid bytes become surrogates."""
    with open_bytes(path) as file, _any_field_size():
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, delimiter=separator, strict=True)
        number = 0
        while True:
            start = reader.line_num + 1
            try:
                record = next(reader, None)
            except csv.Error as error:
                reason = "a quote is not closed" if "end of data" in str(error) else f"bad quoting ({error})"
                place = f"row {number}" if number else "the header"
                what = f"{path.name}, {place} (line {start}): {reason}"
                raise DataError(f'{what}; close it, or write quotes inside a text twice ("")') from None
            if record is None:
                return
            if record:
                yield record, reader.line_num
                number += 1


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters per field; the limit is global, so it is restored."""
    before = csv.field_size_limit(1 << 31)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _refuse_nul(table: Any, path: Path, separator: str) -> None:
    import pyarrow.compute as pc

    for column in table.columns:
        if pc.any(pc.match_substring(column, "\0")).as_py():
            row = pc.index(pc.match_substring(column, "\0"), True).as_py()
            raise DataError(_nul(path, row + 1, line_of_row(path, separator, row)))


def _nul(path: Path, row: int, line: int | None) -> str:
    place = "the header" if row == 0 else f"row {row}" + (f" (line {line})" if line else "")
    return f"{path.name}, {place}: a NUL character; the file is damaged or not a text file"
