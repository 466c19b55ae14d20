"""Frames out: CSV, TSV, JSON Lines or Parquet; a file is whole or not there."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from phasefit.data.io.files import file_format
from phasefit.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "tsv", "jsonl", "parquet")


def write_frame(frame: pd.DataFrame, path: Path | None, format: str | None = None) -> None:
    """Write to a file in one go (a `.part` beside it, then renamed), or to standard output where path is None.

    The format is the file's ending unless given; standard output is CSV unless given.
    """
    if format is not None and format not in FORMATS:
        raise DataError(f"unknown output format '{format}'; {did_you_mean(format, FORMATS)}")
    if path is None:
        _write(frame, sys.stdout.buffer, format or "csv")
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    kind = format or file_format(path)[0]
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as raw:
            if path.name.lower().endswith(".gz"):
                # No name, no time: the same rows give the same bytes.
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
                    _write(frame, cast(IO[bytes], file), kind)
            else:
                _write(frame, raw, kind)
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    except UnicodeEncodeError:
        raise DataError(f"{path} cannot be written: a text holds half a surrogate pair; repair or remove it") from None
    finally:
        part.unlink(missing_ok=True)


def _write(frame: pd.DataFrame, file: IO[bytes], kind: str) -> None:
    if kind == "parquet":
        frame.to_parquet(file, index=False)
        return
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    if kind == "jsonl":
        text.writelines(_json_lines(frame))
    else:
        separator = "\t" if kind == "tsv" else ","
        frame.to_csv(cast(Any, text), sep=separator, index=False, lineterminator="\n", quoting=_quoting(frame))
    text.flush()
    text.detach()  # the file is the caller's to close


def _quoting(frame: pd.DataFrame) -> Literal[0, 1]:
    """Minimal, but all where a text has a carriage return: the csv module leaves that bare, and it ends a row."""
    texts = [column for column in frame.columns if frame[column].dtype.kind in "OU" or frame[column].dtype == "str"]
    bare = any(isinstance(value, str) and "\r" in value for column in texts for value in frame[column])
    return csv.QUOTE_ALL if bare or any("\r" in str(name) for name in frame.columns) else csv.QUOTE_MINIMAL


def _json_lines(frame: pd.DataFrame) -> Iterator[str]:
    names = [str(name) for name in frame.columns]
    for row in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
        record = {name: None if _missing(value) else value for name, value in zip(names, row, strict=True)}
        yield json.dumps(record, ensure_ascii=False, default=_plain) + "\n"


def _missing(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays as Python's own, anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
