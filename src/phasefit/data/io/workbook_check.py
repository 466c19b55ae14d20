"""Check an Excel file before openpyxl reads it: sizes, and the elements of its XML, with bounded memory.

An Excel file is a zip archive of XML. A small one may unpack to anything, and openpyxl keeps whole parts in memory.
`check_archive` refuses archives that are too large by their own directory, which bounds what `zipfile` unpacks, and
parts with too many elements. `scan_sheet` goes through a sheet without keeping it and returns its size.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from phasefit.errors import DataError

MOST_BYTES = 1 << 30  # of all parts together, unpacked
MOST_PARTS = 10_000
MOST_STRINGS = 3_000_000  # shared strings, which openpyxl keeps
MOST_HELD = 10_000_000  # characters of a string or a row
MOST_ELEMENTS = 300_000  # that openpyxl holds at once: a row of a sheet, a string, or a whole part of another kind
MOST_ROWS = 1_048_576  # of a sheet, as in Excel
MOST_COLUMNS = 16_384
MOST_CELLS = 20_000_000  # of a sheet: rows x columns
CHUNK = 1 << 16
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
DAMAGED = "is not an Excel file or is damaged; open it in a spreadsheet program and save it as .xlsx"
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_MAY_BE_XML = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe", b"\xfe\xff", b"\0<", b"<\0")


@dataclass(frozen=True)
class SheetSize:
    """The last row and column of a sheet, and the first formula without a stored value, such as C5."""

    rows: int
    columns: int
    no_value: str | None


def check_archive(path: Path) -> None:
    """DataError if a file is no archive of a workbook, or too large to be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > MOST_BYTES:
                raise DataError(
                    f"{path.name} unpacks to more than {MOST_BYTES >> 30} GB or {MOST_PARTS:,} parts; save the sheet "
                    "as CSV"
                )
            if any(part.flag_bits & 1 for part in parts):
                raise DataError(f"{path.name} is encrypted; save it without a password")
            for part in parts:
                if not _is_sheet(part.filename):
                    _check_part(path, archive, part)
    except zipfile.BadZipFile:
        raise DataError(_no_workbook(path)) from None
    except (OSError, EOFError, NotImplementedError, RuntimeError, ValueError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
        if isinstance(error, DataError | FileNotFoundError | PermissionError):
            raise
        raise DataError(f"{path.name} {DAMAGED}") from None


def scan_sheet(path: Path, sheet: str, content: IO[bytes]) -> SheetSize:
    """The size of a sheet; DataError if it is too large, damaged, or has no stored value for a formula."""
    scan = _SheetScan(f"{path.name}, sheet '{sheet}'")
    _parse(path, content, scan)
    if scan.rows * scan.columns > MOST_CELLS:
        raise DataError(
            f"{scan.where} has {scan.rows:,} rows x {scan.columns:,} columns, more than {MOST_CELLS:,} cells; save it "
            "as CSV, or delete what is unused"
        )
    return SheetSize(scan.rows, scan.columns, scan.no_value)


def _is_sheet(name: str) -> bool:
    return name.startswith("xl/worksheets/") and name.endswith(".xml")


def _check_part(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Count the elements of a part; those of strings only within each string."""
    with archive.open(part) as content:
        start = content.read(8)
    if not part.filename.endswith((".xml", ".rels")) and not start.startswith(_MAY_BE_XML):
        return  # a picture
    with archive.open(part) as content:
        _parse(path, content, _Scan(f"{path.name}, {part.filename}"))


class _Scan:
    """Counts elements that openpyxl holds at once: it forgets a string or a row once it is read."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.held = self.strings = self.characters = 0

    def text(self, characters: str) -> None:
        self.characters += len(characters)
        if self.characters > MOST_HELD:
            raise DataError(f"{self.where} has a text that is too long to be read; save the sheet as CSV")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.held += 1
        if self.held > MOST_ELEMENTS:
            raise DataError(f"{self.where} has too many elements to be read; save the sheet as CSV")

    def end(self, tag: str) -> None:
        if tag == f"{SHEET} si":
            self.held = self.characters = 0
            self.strings += 1
            if self.strings > MOST_STRINGS:
                raise DataError(f"{self.where} has more than {MOST_STRINGS:,} texts; save the sheet as CSV")


class _SheetScan(_Scan):
    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.rows = self.columns = self.column = 0
        self.reference = ""
        self.is_formula = self.has_value = False
        self.no_value: str | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        space, _, name = tag.rpartition(" ")
        if space == STRICT:
            raise DataError(f"{self.where} is in the format Strict Open XML; save it as an Excel workbook (.xlsx)")
        if space != SHEET:
            return
        if name == "row":
            row = int(attributes.get("r", self.rows + 1))
            if not self.rows < row <= MOST_ROWS:
                raise ValueError(f"row {row}")
            self.rows, self.column = row, 0
        elif name == "c":
            self._cell(attributes.get("r"))
        elif name == "f":
            self.is_formula = True
        elif name in ("v", "is"):
            self.has_value = True

    def _cell(self, reference: str | None) -> None:
        self.column += 1
        if reference is not None:
            match = _REFERENCE.fullmatch(reference)
            if match is None or int(match[2]) != self.rows:
                raise ValueError(reference)
            column = 0
            for letter in match[1]:
                column = 26 * column + ord(letter) - 64
            if column < self.column:
                raise ValueError(reference)
            self.column = column
        if self.column > MOST_COLUMNS:
            raise ValueError(f"column {self.column}")
        self.columns = max(self.columns, self.column)
        self.reference, self.is_formula, self.has_value = f"column {self.column}", False, False

    def end(self, tag: str) -> None:
        space, _, name = tag.rpartition(" ")
        if space != SHEET:
            return
        if name == "row":
            self.held = self.characters = 0
        elif name == "c" and self.is_formula and not self.has_value and self.no_value is None:
            self.no_value = f"sheet row {self.rows}, {self.reference}"


def _parse(path: Path, content: IO[bytes], scan: _Scan) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = scan.start
    parser.EndElementHandler = scan.end
    parser.CharacterDataHandler = scan.text
    parser.buffer_text = True

    def refuse(*_: Any) -> None:
        raise ValueError("a document type")  # could define entities that expand without limit

    parser.StartDoctypeDeclHandler = refuse
    try:
        while chunk := content.read(CHUNK):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except DataError:
        raise
    except (expat.ExpatError, ValueError, zipfile.BadZipFile):
        raise DataError(f"{scan.where}: damaged; {path.name} {DAMAGED}") from None


def _no_workbook(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\xd0\xcf\x11\xe0"):  # the container of old and of encrypted files
        return f"{path.name} is an old or password-protected Excel file; save it as .xlsx without a password"
    return f"{path.name} {DAMAGED}"
