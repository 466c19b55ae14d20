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
SPREADSHEET = "save the spreadsheet as CSV (UTF-8)"
INSTEAD = {
    ".json": "write one object per line and name it .jsonl",
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), SPREADSHEET),
}
# Byte order marks; UTF-32 comes first because its mark starts like that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
START = 64  # bytes to read for detecting a file's actual format


def file_format(path: Path, also: Iterable[str] = ()) -> tuple[str, bool]:
    """The format (csv, tsv, jsonl, parquet) and whether the file is gzipped, both from its extension.

    `also` are further extensions that the caller supports; the error about an unknown extension lists them.
    """
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in ENDINGS:
        known = ", ".join((*ENDINGS, *also))
        instead = f"; {INSTEAD[ending]}" if ending in INSTEAD else ""
        zipped = ", each also with .gz" if not also else f"; .gz can be added to {', '.join(ENDINGS)}"
        raise DataError(f"{path.name}: unknown file extension '{ending}'; supported: {known}{zipped}{instead}")
    return ENDINGS[ending], gzipped


def stem(path: Path) -> str:
    """The file name without extensions: reviews.csv.gz becomes reviews."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem if Path(name).suffix.lower() in (*ENDINGS, ".txt") else name


def open_bytes(path: Path) -> IO[bytes]:
    """The file opened as bytes, decompressed if it ends in .gz."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def refuse_other_content(path: Path) -> None:
    """DataError if the first bytes are those of UTF-16, an archive, a spreadsheet or Parquet instead of text."""
    with open_bytes(path) as file:
        start = file.read(START)
    encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
    if encoding:
        raise DataError(f"{path.name} is {encoding}; save it as UTF-8")
    if _every_second_is_nul(start):
        raise DataError(f"{path.name} seems to be UTF-16; save it as UTF-8")
    if start.startswith(b"\x1f\x8b"):
        raise DataError(f"{path.name} is a gzip file; rename it to {path.name}.gz")
    if start.startswith(b"PK\x03\x04"):
        raise DataError(f"{path.name} is a zip archive or a spreadsheet; unpack it, or {SPREADSHEET}")
    if start.startswith(b"PAR1\x15"):
        raise DataError(f"{path.name} is a Parquet file; rename it to {stem(path)}.parquet")


def _every_second_is_nul(start: bytes) -> bool:
    """Whether this looks like UTF-16 without a mark: Latin letters have NUL as every second byte."""
    first, second = start[::2], start[1::2]
    for one, other in ((first, second), (second, first)):
        if len(one) > 2 and one.count(0) * 2 > len(one) and 0 not in other:
            return True
    return False


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
