"""Dialect: the delimiter, the encoding and the sheet of a file, as given or as assumed."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from phasefit.errors import DataError

UTF_8 = "utf-8"
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
DELIMITER_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars (|)", " ": "spaces"}
ENCODING_WORDS = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1"}
APPLIES_TO = {
    "delimiter": "CSV and TSV files",
    "encoding": "text files (CSV, TSV, JSON, .txt)",
    "sheet": "Excel files",
}


@dataclass(frozen=True)
class Dialect:
    """None for what is not given, or does not apply to the file."""

    delimiter: str | None = None  # between the columns of CSV and TSV
    encoding: str | None = None  # of a text file, by Python's name
    sheet: str | None = None  # of an Excel file

    def given(self) -> dict[str, str]:
        """The values that are set."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}

    def assumption(self, given: Dialect, usual: str | None, sheets: int) -> str:
        """What was assumed beyond the given and the usual, with the options that change it; empty if nothing."""
        words, options = [], []
        if self.delimiter not in (given.delimiter, usual):
            words.append(f"separated by {delimiter_words(self.delimiter or '')}")
            options.append("--delimiter")
        if self.encoding not in (given.encoding, UTF_8, None):
            words.append(f"read as {encoding_words(self.encoding)}")
            options.append("--encoding")
        if self.sheet != given.sheet:
            words.append(f"sheet '{self.sheet}'" + (f", the first of {sheets}" if sheets > 1 else ""))
            options += ["--sheet"] * (sheets > 1)
        change = f"; {' and '.join(options)} change{'s' * (len(options) == 1)} that" if options else ""
        return ", ".join(words) + change


DETECTED = Dialect()  # nothing is given


@dataclass(frozen=True)
class FileReading:
    """How a file was read, and a sentence about what was assumed; empty if nothing was."""

    path: Path
    dialect: Dialect = Dialect()
    assumption: str = ""


@dataclass(frozen=True)
class Dialects:
    """How to read files: as given, and as an earlier run read them, by absolute path."""

    given: Dialect = Dialect()
    earlier: Mapping[str, Mapping[str, str]] | None = None

    def of(self, path: Path) -> Dialect:
        """The dialect of one file."""
        known = (self.earlier or {}).get(str(path.resolve()))
        return self.given if not isinstance(known, Mapping) else checked_dialect(**{**self.given.given(), **known})

    def check_used(self, files: Iterable[FileReading | None], what: str) -> None:
        """Raise a DataError for an option that applies to none of the files."""
        dialects = [file.dialect for file in files if file is not None]
        for name in self.given.given():
            if not any(getattr(one, name) for one in dialects):
                raise DataError(f"--{name} applies to {APPLIES_TO[name]}, and {what} is none; remove it")


def checked_dialect(delimiter: Any = None, encoding: Any = None, sheet: Any = None, **unknown: Any) -> Dialect:
    """The dialect with these values, by common names; DataError if one cannot be used."""
    for name, value in {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, **unknown}.items():
        if name in unknown or not isinstance(value, str | None):
            raise DataError(f"--{name} must be a string, not {value!r:.40}")
    return Dialect(_delimiter(delimiter), None if encoding is None else _encoding(encoding), sheet)


def delimiter_words(delimiter: str) -> str:
    """The delimiter in words."""
    return DELIMITER_WORDS.get(delimiter, f"'{delimiter}'")


def encoding_words(encoding: str) -> str:
    """The usual name of an encoding."""
    return ENCODING_WORDS.get(encoding, encoding.upper())


def _delimiter(text: str | None) -> str | None:
    if text is None:
        return None
    mark = DELIMITER_NAMES.get(text.lower(), text)
    if (
        len(mark) != 1
        or not mark.isascii()
        or mark.isalnum()
        or mark in "\"'\r\n\0\\"
        or not (mark >= " " or mark == "\t")
    ):
        raise DataError(
            f"--delimiter {text!r:.40} cannot separate columns; give one character such as ';' or '|', or the word tab"
        )
    return mark


def _encoding(name: str) -> str:
    try:
        "a".encode(name).decode(name)  # refuses codecs that are not of texts
        codecs.getincrementaldecoder(name)("surrogateescape").decode("ab".encode(name))  # and those of names of hosts
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        raise DataError(
            f"--encoding {name!r:.40} is not known; give a name such as utf-8, utf-16, windows-1252 or latin-1"
        ) from None
    return UTF_8 if known in ("utf-8-sig", "ascii") else known
