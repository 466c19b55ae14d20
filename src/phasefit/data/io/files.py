"""File extensions, gzip and errors when opening files, shared by readers and writers."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from phasefit.errors import DataError

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
READ_ONLY = {".json": "json", ".xlsx": "xlsx", ".xlsm": "xlsx"}  # formats that are read but not written
SPREADSHEET = "save the spreadsheet as .xlsx or as CSV (UTF-8)"
INSTEAD = {
    ".json": "write to a .jsonl file",
    **dict.fromkeys((".xlsx", ".xlsm"), "write to a .csv file"),
    **dict.fromkeys((".xls", ".ods", ".numbers"), SPREADSHEET),
}
START = 64  # bytes to read for detecting a file's actual format


def file_format(path: Path, also: Iterable[str] = (), *, reading: bool = False) -> tuple[str, bool]:
    """The format (csv, tsv, jsonl, parquet) and whether the file is gzipped, both from its extension.

    `also` are further extensions that the caller supports; the error about an unknown extension lists them. `reading`
    adds the formats that are only read: json and xlsx.
    """
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    formats = {**ENDINGS, **READ_ONLY} if reading else ENDINGS
    if ending not in formats:
        known = ", ".join((*formats, *also))
        instead = f"; {INSTEAD[ending]}" if ending in INSTEAD else ""
        zipped = ", each also with .gz" if not also else f"; .gz can be added to {', '.join(ENDINGS)}"
        raise DataError(f"{path.name}: unknown file extension '{ending}'; supported: {known}{zipped}{instead}")
    return formats[ending], gzipped


def stem(path: Path) -> str:
    """The file name without extensions: reviews.csv.gz becomes reviews."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem if Path(name).suffix.lower() in (*ENDINGS, *READ_ONLY, ".txt") else name


def open_bytes(path: Path) -> IO[bytes]:
    """The file opened as bytes, decompressed if it ends in .gz; a remote file only has its name and `open`."""
    if not path.name.lower().endswith(".gz"):
        return path.open("rb")
    return cast(IO[bytes], gzip.open(path if isinstance(path, Path) else path.open("rb"), "rb"))


def refuse_other_content(path: Path) -> None:
    """DataError if the first bytes are those of an archive, a spreadsheet or Parquet instead of text."""
    with open_bytes(path) as file:
        start = file.read(START)
    if start.startswith(b"\x1f\x8b"):
        raise DataError(f"{path.name} is a gzip file; rename it to {path.name}.gz")
    if start.startswith(b"PK\x03\x04"):
        raise DataError(
            f"{path.name} is a zip archive or a spreadsheet; unpack it, or rename it to {stem(path)}.xlsx if it is an "
            "Excel file"
        )
    if start.startswith(b"PAR1\x15"):
        raise DataError(f"{path.name} is a Parquet file; rename it to {stem(path)}.parquet")


class InvalidEncoding(DataError):  # noqa: N818 - named after what is wrong
    """A byte is invalid in the encoding that the file is read in; another encoding may fit."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn operating system errors about a file into a DataError."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise DataError(f"{path.name} cannot be read: permission denied") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise DataError(
            f"{path.name} is not a complete gzip file: it is damaged or truncated; create or download it again"
        ) from None
