"""One file of all shards, in order, with the memory of one shard."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from phasefit.predicting.shards import Shard
from phasefit.predicting.worker import Job
from phasefit.predicting.writers import ARRAY, gzip_writer, write

CHUNK = 1 << 20


def merge_shards(job: Job, shards: Sequence[Shard], out: Path) -> None:
    """Write the file atomically."""
    parts = [job.output(shard) for shard in shards]
    if job.format == "parquet":
        write(out, lambda temporary: _merge_parquet(parts, temporary))
    elif job.format == ARRAY:
        write(out, lambda temporary: _merge_arrays(parts, temporary))
    else:
        write(out, lambda temporary: _merge_text(parts, temporary, job.zipped))


def merge_skipped(job: Job, shards: Sequence[Shard], out: Path) -> int:
    """Write the rows that were left out to one file; returns how many, and writes nothing if there are none."""
    parts = [path for shard in shards if (path := job.skipped(shard)).is_file()]
    if parts:
        write(out, lambda temporary: _merge_text(parts, temporary, zipped=False))
    return sum(count_lines(path) for path in parts)


def count_lines(path: Path) -> int:
    """The lines of a file."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _merge_text(parts: Sequence[Path], out: Path, zipped: bool) -> None:
    with out.open("wb") as raw:
        if zipped:
            with gzip_writer(raw) as file:
                _copy(parts, file)
        else:
            _copy(parts, raw)


def _copy(parts: Sequence[Path], file: IO[bytes]) -> None:
    for part in parts:
        with part.open("rb") as content:
            shutil.copyfileobj(content, file, CHUNK)


def _merge_parquet(parts: Sequence[Path], out: Path) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(out, parquet.read_schema(parts[0])) as writer:
        for part in parts:
            with parquet.ParquetFile(part) as opened:
                for group in range(opened.num_row_groups):
                    writer.write_table(opened.read_row_group(group))


def _merge_arrays(parts: Sequence[Path], out: Path) -> None:
    import numpy as np

    arrays = [array for part in parts if len(array := np.load(part, mmap_mode="r", allow_pickle=False))]
    with out.open("wb") as file:
        if not arrays:
            np.save(file, np.load(parts[0], allow_pickle=False), allow_pickle=False)
            return
        shape = (sum(map(len, arrays)), *arrays[0].shape[1:])
        header = {"descr": np.lib.format.dtype_to_descr(arrays[0].dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for array in arrays:
            file.write(np.ascontiguousarray(array).tobytes())
