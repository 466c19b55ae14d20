"""File endings, gzip and the errors that opening a file can give: what readers and writers share."""

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
SPREADSHEET = "save a spreadsheet as CSV (UTF-8)"
INSTEAD = {
    ".json": "write one object per line and name it .jsonl",
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), SPREADSHEET),
}
# Byte order marks; that of UTF-32 begins like that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
START = 64  # bytes that are looked at to tell what a file really is


def file_format(path: Path, also: Iterable[str] = ()) -> tuple[str, bool]:
    """The format (csv, tsv, jsonl, parquet) and whether it is gzipped, both by the file's ending.

    `also` are endings that the caller knows besides; they are named when the ending is unknown.
    """
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in ENDINGS:
        known = ", ".join((*ENDINGS, *also))
        instead = f"; {INSTEAD[ending]}" if ending in INSTEAD else ""
        raise DataError(f"{path.name}: unknown file ending '{ending}'; known: {known}, each also with .gz{instead}")
    return ENDINGS[ending], gzipped


def stem(path: Path) -> str:
    """The file's name without its endings: reviews.csv.gz is reviews."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem if Path(name).suffix.lower() in (*ENDINGS, ".txt") else name


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unzipped by its ending."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def refuse_other_content(path: Path) -> None:
    """A clear error where what should be text is, by its first bytes, UTF-16, packed, a spreadsheet or Parquet."""
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
    """UTF-16 without a mark: of Latin letters, every second byte is NUL and no other is."""
    first, second = start[::2], start[1::2]
    for one, other in ((first, second), (second, first)):
        if len(one) > 2 and one.count(0) * 2 > len(one) and 0 not in other:
            return True
    return False


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into one sentence."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise DataError(f"{path.name} may not be read: permission denied") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise DataError(
            f"{path.name} is not a whole gzip file: it is damaged or cut off; make or download it again"
        ) from None
