"""CSV and TSV: pyarrow reads all columns as text; if it fails, the file is read row by row to find the bad row."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from phasefit.data.io.dialect import delimiter_words
from phasefit.data.io.encodings import TextFile
from phasefit.data.io.files import START, refuse_other_content
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

TAB = "\t"
MARKS = (",", ";", TAB, "|")
SAMPLE = 1 << 18  # bytes, from which the delimiter is detected
SAMPLE_ROWS = 1_000
MOST_COLUMNS = 20_000
BLOCK = 16 << 20  # pyarrow needs each record within two blocks; 16 MB is enough for any realistic text


def read_delimited(file: TextFile, separator: str, *, given: bool = False) -> pd.DataFrame:
    """A frame of text columns; ragged rows, invalid UTF-8, NUL and unclosed quotes raise an error with the row.

    `given`: the user named the separator, so that a header with another mark is a single column.
    """
    names = read_header(file, separator, given)
    try:
        table = _read_fast(file, separator, names, quoted=True)
    except ValueError:
        table = _reread(file, separator, names)
    if table.num_rows == 0:
        raise DataError(f"{file.name} has no rows, only a header")
    _refuse_nul(table, file, separator)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def detect_separator(file: TextFile, usual: str) -> str:
    """The usual separator, unless the rows disagree with it and header and rows agree on exactly one other."""
    with file.open() as content:
        sample = content.read(SAMPLE)
    cut = len(sample) == SAMPLE
    text = sample.decode("utf-8-sig", errors="surrogateescape")
    if _columns(text, usual, cut) > 1:
        return usual
    others = [mark for mark in MARKS if mark != usual and _columns(text, mark, cut) > 1]
    return others[0] if len(others) == 1 else usual


def _columns(text: str, separator: str, cut: bool) -> int:
    """The number of columns of a header and all its rows; 0 if they differ, or if there are no rows."""
    widths, rows = set(), 0
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE) if separator == TAB else (csv.QUOTE_MINIMAL,):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, quoting=quoting)
        records: list[list[str]] = []
        with any_field_size():
            try:
                records += (record for record in islice(reader, SAMPLE_ROWS) if record)
            except csv.Error as error:
                if not (cut and "end of data" in str(error)):  # otherwise the sample ends within quotes
                    continue
        if cut and len(records) > 1:
            records.pop()  # may be incomplete
        widths, rows = {len(record) for record in records}, len(records) - 1
        break
    return widths.pop() if len(widths) == 1 and rows > 0 else 0


def line_of_row(file: TextFile, separator: str, row: int) -> int | None:
    """The line of the file where this data row (0-based) ends; None if there is no such row."""
    for number, (_, line) in enumerate(_records(file, separator)):
        if number == row + 1:
            return line
    return None


def read_header(file: TextFile, separator: str, given: bool) -> list[str]:
    """The names of the columns; DataError if the file is not CSV or TSV, or a name is missing or repeated."""
    refuse_other_content(file.path)
    _refuse_json(file)
    records = _records(file, separator)
    record, _ = next(records, ([], 0))
    if not record:
        raise DataError(f"{file.name} is empty")
    if len(record) > MOST_COLUMNS:
        what = f"{file.name} has {len(record):,} columns, more than {MOST_COLUMNS:,}"
        raise DataError(f"{what}; use another --delimiter, or remove columns")
    names = [_checked(name, file, 0, 1) for name in record]
    if not any(name.strip() for name in names):
        if any(cell.strip() for row, _ in records for cell in row):
            raise DataError(f"{file.name}: the first line has no column names; add a header such as text,label")
        raise DataError(f"{file.name} is empty: it contains only white space")
    other = next((mark for mark in MARKS if mark != separator and mark in names[0]), None)
    if len(names) == 1 and other is not None and not given:
        option = "tab" if other == "\t" else f"'{other}'"
        raise DataError(
            f"{file.name} seems to be separated by {delimiter_words(other)}, but its rows do not all have the same "
            f"number of columns that way; use --delimiter {option} to see where, or --delimiter "
            f"{'tab' if separator == TAB else repr(separator)} if it has a single column"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{file.name}: two columns are named '{twice[0]}'; rename one")
    return names


def _refuse_json(file: TextFile) -> None:
    with file.open() as content:
        start = content.read(START).lstrip()
    if start.startswith((b'{"', b'[{"')):
        raise DataError(f"{file.name} seems to be JSON; rename it to .json or .jsonl")


def _read_fast(file: TextFile, separator: str, names: list[str], *, quoted: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    with file.open() as content:
        table = arrow_csv.read_csv(
            content,
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
        _diagnose(file, separator, len(names))
    return table


def _reread(file: TextFile, separator: str, names: list[str]) -> Any:
    """Read again after a failure: raise the error with its row, or return the table if only pyarrow failed."""
    try:
        return _diagnose(file, separator, len(names), keep=True)
    except DataError:
        if separator != "\t":
            raise
        # Many TSV files do not use quoting but contain quote characters; accept the file if every row fits that way
        # and the header does not show that it uses quoting.
        try:
            table = _read_fast(file, separator, names, quoted=False)
        except ValueError:
            table = None
        if table is None or any(name[:1] == '"' == name[-1:] for name in table.column_names):
            raise
        return table


def _diagnose(file: TextFile, separator: str, width: int, *, keep: bool = False) -> Any:
    """Read row by row and raise at the first bad row."""
    import pyarrow as pa

    rows: list[list[str]] = []
    header: list[str] = []
    for number, (record, line) in enumerate(_records(file, separator)):
        if len(record) != width:
            raise wrong_width(file, number, line, width, len(record))
        cells = [_checked(cell, file, number, line) for cell in record]
        if number == 0:
            header = cells
        elif keep:
            rows.append(cells)
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return pa.table({name: pa.array(list(column), pa.string()) for name, column in zip(header, columns, strict=True)})


def _checked(cell: str, file: TextFile, row: int, line: int) -> str:
    """The cell; DataError for invalid UTF-8 or NUL."""
    try:
        cell.encode()
    except UnicodeEncodeError:
        place = f"row {row} (line {line})" if row else "the header"
        raise file.invalid(place) from None
    if "\0" in cell:
        raise DataError(nul_sentence(file, row, line))
    return cell


def wrong_width(file: TextFile, row: int, line: int, width: int, cells: int) -> DataError:
    """The error of a row with another number of cells than the header."""
    where, problem = f"{file.name}, row {row} (line {line})", f"expected {width} columns, found {cells}"
    return DataError(f"{where}: {problem}; is a quote or a separator missing?")


class BadQuoting(DataError):  # noqa: N818 - named after what is wrong
    """The quotes of a row are wrong; the reader of whole files may accept them all the same."""


def bad_quoting(file: TextFile, row: int, line: int, error: Exception) -> BadQuoting:
    """The error of a row whose quotes are wrong; `line` is where it starts."""
    reason = "a quote is not closed" if "end of data" in str(error) else f"bad quoting ({error})"
    place = f"row {row}" if row else "the header"
    what = f"{file.name}, {place} (line {line}): {reason}"
    return BadQuoting(f'{what}; close it, or write quotes inside a text twice ("")')


def _records(file: TextFile, separator: str) -> Iterator[tuple[list[str], int]]:
    """Records with their line numbers, without blank lines; invalid bytes become surrogates."""
    with file.open() as content, any_field_size():
        text = io.TextIOWrapper(content, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, delimiter=separator, strict=True)
        number = 0
        while True:
            start = reader.line_num + 1
            try:
                record = next(reader, None)
            except csv.Error as error:
                raise bad_quoting(file, number, start, error) from None
            if record is None:
                return
            if record:
                yield record, reader.line_num
                number += 1


@contextmanager
def any_field_size() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters per field; the limit is global, so it is restored."""
    before = csv.field_size_limit(1 << 31)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _refuse_nul(table: Any, file: TextFile, separator: str) -> None:
    import pyarrow.compute as pc

    for column in table.columns:
        if pc.any(pc.match_substring(column, "\0")).as_py():
            row = pc.index(pc.match_substring(column, "\0"), True).as_py()
            raise DataError(nul_sentence(file, row + 1, line_of_row(file, separator, row)))


def nul_sentence(file: TextFile, row: int, line: int | None) -> str:
    """The error of a row with a NUL character."""
    place = "the header" if row == 0 else f"row {row}" + (f" (line {line})" if line else "")
    return f"{file.name}, {place}: a NUL character; the file is damaged or not a text file"
