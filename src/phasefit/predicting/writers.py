"""The output of a shard, written atomically: rows in one of the formats, an array, and the rows that were left out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from phasefit.data.io.frames import with_escaped_formulas, write_rows
from phasefit.errors import DataError, RunError
from phasefit.files.atomic import write_file
from phasefit.predicting.readers import Skipped

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ARRAY = "npy"
SKIPPED = ".skipped.jsonl"
FORMATS = ("csv", "tsv", "jsonl", "parquet", ARRAY)
PART_ENDINGS = (SKIPPED, *(f".{format}{zipped}" for format in FORMATS for zipped in ("", ".gz")))  # of a shard


def write_table(
    path: Path, frame: pd.DataFrame, format: str, *, header: bool, quote_all: bool | None, escape_formulas: bool
) -> None:
    """Write rows as CSV, TSV or JSON Lines."""
    shown = with_escaped_formulas(frame) if escape_formulas else frame

    def fill(temporary: Path) -> None:
        with temporary.open("wb") as raw:
            if path.name.endswith(".gz"):
                with gzip_writer(raw) as file:
                    write_rows(shown, file, format, header=header, quote_all=quote_all)
            else:
                write_rows(shown, raw, format, header=header, quote_all=quote_all)

    write(path, fill)


def gzip_writer(raw: IO[bytes]) -> IO[bytes]:
    """A gzip stream without name and time, so that the same rows give the same bytes."""
    return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0))


def write_parquet(path: Path, table: Any) -> None:
    """Write a table of pyarrow."""
    from pyarrow import parquet

    write(path, lambda temporary: parquet.write_table(table, temporary))


def write_array(path: Path, vectors: np.ndarray) -> None:
    """Write the vectors alone."""
    import numpy as np

    def fill(temporary: Path) -> None:
        with temporary.open("wb") as file:  # given a name, numpy would append .npy to it
            np.save(file, vectors, allow_pickle=False)

    write(path, fill)


def write_skipped(path: Path, file: str, skipped: Sequence[Skipped]) -> None:
    """Write the rows that were left out: file, row, line and reason."""
    lines = [{"file": file, "row": one.row, "line": one.line, "reason": one.reason} for one in skipped]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="backslashreplace"))


def write(path: Path, fill: Any) -> None:
    """Write a file atomically; an error in one sentence if that is not possible."""
    try:
        write_file(path, fill)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror or error}; finished shards are kept, so repeat the command to "
            "resume"
        ) from error
    except UnicodeEncodeError:
        raise DataError(
            f"{path} cannot be written: a text contains a lone surrogate (an incomplete character); fix or remove it"
        ) from None
