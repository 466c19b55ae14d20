"""Files in and out as pandas frames: CSV, TSV, JSON Lines, Parquet, lines, also gzipped, by the file's ending."""

from __future__ import annotations

import io
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.io import delimited, jsonl, lines
from phasefit.data.io.files import file_format, open_bytes, readable
from phasefit.data.io.writers import write_frame
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["free_unused", "line_of_row", "read_frame", "write_frame"]

SEPARATORS = {"csv": ",", "tsv": "\t"}


def read_frame(path: Path) -> pd.DataFrame:
    """The rows of a file; CSV and TSV columns are all text, nothing is guessed ("NA" stays "NA")."""
    path = Path(path)
    with readable(path):
        if path.is_dir():
            raise IsADirectoryError
        if path.stat().st_size == 0:
            raise DataError(f"{path.name} is empty")
        if lines.is_lines(path):
            return lines.read_lines(path)
        kind, _ = file_format(path, also=(lines.ENDING,))
        if kind == "parquet":
            return _read_parquet(path)
        return jsonl.read_jsonl(path) if kind == "jsonl" else delimited.read_delimited(path, SEPARATORS[kind])


def line_of_row(path: Path, row: int) -> int | None:
    """The line of a text file that holds this data row (0-based), for messages; None where there are no lines."""
    if lines.is_lines(path):
        return lines.line_of_row(path, row)
    kind, _ = file_format(path)
    if kind == "parquet":
        return None
    return jsonl.line_of_row(path, row) if kind == "jsonl" else delimited.line_of_row(path, SEPARATORS[kind], row)


def free_unused() -> None:
    """Give back to the system what files took and nobody holds any more: pyarrow keeps such memory for itself."""
    pyarrow = sys.modules.get("pyarrow")  # where it was never imported there is nothing to give back
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet

    content: Any = path
    if path.name.lower().endswith(".gz"):  # parquet is read from its end, so the whole file is unzipped first
        with open_bytes(path) as file:
            content = io.BytesIO(file.read())
    try:
        table = parquet.read_table(content, partitioning=None)
        table.validate(full=True)  # texts that are no UTF-8 would fail only when they are used
    except (pa.ArrowException, OSError, ValueError):
        raise DataError(_no_parquet(path)) from None
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise DataError(f"{path.name}: two columns are named '{twice[0]}'; rename one")
    if table.num_rows == 0:
        raise DataError(f"{path.name} has no rows")
    # A frame's named index is a column like any other; an index without a name is dropped.
    try:
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, ValueError, OverflowError):  # e.g. dates out of range
        raise DataError(_no_parquet(path)) from None
    return frame[[name for name in frame.columns if not name.startswith("__index_level_")]]


def _no_parquet(path: Path) -> str:
    return f"{path.name} is not a Parquet file, or a damaged one; write or download it again"
