"""Records of CSV, TSV and JSON Lines one by one, from any record on, with the checks of the readers of whole files.

Memory is bounded by the largest record. A `Position` is the end of a record: reading continues there without reading
what comes before. Positions count bytes of the file as UTF-8 (`TextFile.open`).
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from phasefit.data.io.delimited import any_field_size, bad_quoting, nul_sentence, wrong_width
from phasefit.data.io.encodings import TextFile
from phasefit.data.io.jsonl import read_object
from phasefit.errors import DataError

LONGEST = 32 << 20  # bytes of a record; a longer one is a quote that is not closed, or no table
CHUNK = 1 << 20
MARK = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@dataclass(frozen=True)
class Position:
    """Where a record starts: byte, lines before it, and its row; row 0 is the header of CSV and TSV."""

    offset: int = 0
    lines: int = 0
    row: int = 0


class Record(NamedTuple):
    """The cells of a row or a JSON object, or the problem that makes it unreadable."""

    row: int  # from 1
    line: int  # where it ends
    value: Any
    problem: DataError | None
    several_lines: bool  # whether a cell may contain a line end


class Cursor:
    """Lines of a file from a position on; consecutive calls continue the open file."""

    def __init__(self, file: TextFile, *, returns_end_lines: bool) -> None:
        self.file = file
        self._returns = returns_end_lines  # in CSV, a carriage return alone ends a line too
        self._content: IO[bytes] | None = None
        self._pending: deque[bytes] = deque()
        self.offset = self.lines = 0  # before the next line

    def move(self, position: Position) -> None:
        """Move to a position."""
        if self._content is not None and self.offset == position.offset:
            return
        self.close()
        self._content = self.file.open()
        _skip(self._content, position.offset)
        self.offset, self.lines = position.offset, position.lines

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = self._pending.popleft() if self._pending else self._read()
        if not line:
            raise StopIteration
        self.offset += len(line)
        self.lines += 1
        return line.removeprefix(MARK) if self.offset == len(line) else line

    def put_back(self, lines: list[bytes]) -> None:
        """Read these lines again."""
        self._pending.extendleft(reversed(lines))
        self.offset -= sum(map(len, lines))
        self.lines -= len(lines)

    def close(self) -> None:
        """Close the file."""
        if self._content is not None:
            self._content.close()
        self._content = None
        self._pending.clear()

    def _read(self) -> bytes:
        assert self._content is not None
        line = self._content.readline(LONGEST + 1)
        if len(line) > LONGEST:
            raise DataError(f"{self.file.name}, line {self.lines + 1}: longer than {LONGEST >> 20} MB; split the line")
        if self._returns and b"\r" in line and len(parts := _LINE.findall(line)) > 1:
            self._pending.extend(parts[1:])
            return bytes(parts[0])
        return line


def delimited_records(
    cursor: Cursor, separator: str, start: Position, *, quoted: bool, width: int | None
) -> Iterator[Record]:
    """The records of CSV or TSV; blank lines are skipped. After a wrong quote, the next line starts a record."""
    cursor.move(start)
    row, file = start.row, cursor.file
    with any_field_size():
        while True:
            source = _Decoded(cursor)
            reader = csv.reader(
                source, delimiter=separator, strict=True, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
            )
            while True:
                first = cursor.lines + 1
                source.restart()
                try:
                    cells = next(reader, None)
                except (csv.Error, _TooLong) as error:
                    cursor.put_back(source.used[1:])
                    yield Record(row, first, None, bad_quoting(file, row, first, error), False)
                    row += 1
                    break  # with a new reader
                if cells is None:
                    return
                if not cells:
                    continue
                problem = None
                if width is not None and len(cells) != width:
                    problem = wrong_width(file, row, cursor.lines, width, len(cells))
                elif source.invalid:
                    problem = file.invalid(f"row {row} (line {cursor.lines})" if row else "the header")
                elif source.nul:
                    problem = DataError(nul_sentence(file, row, cursor.lines))
                yield Record(row, cursor.lines, cells, problem, len(source.used) > 1)
                row += 1


def json_records(cursor: Cursor, start: Position) -> Iterator[Record]:
    """The objects of JSON Lines, which have no header: their first row is 1."""
    cursor.move(start)
    row = start.row
    for line in cursor:
        if not line.strip():
            continue
        try:
            value, problem = read_object(line, cursor.file, cursor.lines), None
        except DataError as error:
            value, problem = None, error
        yield Record(row, cursor.lines, value, problem, False)
        row += 1


class _TooLong(Exception):  # noqa: N818 - internal
    """A record is longer than LONGEST."""

    def __str__(self) -> str:
        return f"unexpected end of data: longer than {LONGEST >> 20} MB"


class _Decoded:
    """The lines of a cursor as text, and what the current record is made of."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.restart()

    def restart(self) -> None:
        self.used: list[bytes] = []
        self.size = 0
        self.invalid = self.nul = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._cursor)
        self.used.append(line)
        self.size += len(line)
        if self.size > LONGEST:
            raise _TooLong
        self.nul = self.nul or b"\0" in line
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self.invalid = True
            return line.decode("utf-8", errors="surrogateescape")


def _skip(content: IO[bytes], offset: int) -> None:
    if content.seekable():
        content.seek(offset)
        return
    while offset > 0 and (chunk := content.read(min(CHUNK, offset))):
        offset -= len(chunk)
