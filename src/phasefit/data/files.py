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


def file_format(path: Path, also: Iterable[str] = ()) -> tuple[str, bool]:
    """The format (csv, tsv, jsonl, parquet) and whether it is gzipped, both by the file's ending.

    `also` are endings that the caller knows besides; they are named when the ending is unknown.
    """
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in ENDINGS:
        known = ", ".join((*also, *ENDINGS))
        raise DataError(f"{path.name}: unknown file ending '{ending}'; known: {known}, each also with .gz")
    return ENDINGS[ending], gzipped


def stem(path: Path) -> str:
    """The file's name without its endings: reviews.csv.gz is reviews."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem if Path(name).suffix.lower() in ENDINGS else name


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unzipped by its ending."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise DataError(f"{path.name} may not be read: permission denied") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise DataError(f"{path.name} is not a whole gzip file: it is damaged or cut off") from None
