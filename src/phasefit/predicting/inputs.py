"""The input files: from paths, patterns, folders and addresses, each with a version that changes with its content."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from phasefit.data.io.files import ENDINGS, file_format, readable
from phasefit.errors import DataError
from phasefit.predicting.remote import RemoteFile, find_remote, is_remote
from phasefit.predicting.shards import MANIFEST


@dataclass(frozen=True)
class InputFile:
    """A file, its format (csv, tsv, jsonl, parquet), its size in bytes, and its version.

    The version of a local file is the time of its last change: reading terabytes only to hash them would take longer
    than many predictions.
    """

    name: str  # an absolute path or an address
    format: str
    size: int
    version: str

    @property
    def path(self) -> Path:
        """The path; for an address, an object with a name and `open`."""
        return cast(Path, RemoteFile(self.name)) if is_remote(self.name) else Path(self.name)


def is_pattern(source: str) -> bool:
    """Whether this is a pattern such as data/*.csv, and not the name of a file."""
    return any(mark in source for mark in "*?[") and not Path(source).expanduser().exists()


def find_inputs(sources: Sequence[str], out: Path | None = None) -> list[InputFile]:
    """The files of all sources, in the order of the sources and sorted within each.

    Patterns and folders leave out the output `out`, of which parts are there after a kill.
    """
    names = [name for source in sources for name in _names(source, out)]
    places = Counter(name if is_remote(name) else os.path.realpath(name) for name in names)
    twice = next((place for place, count in places.items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{twice} is given twice, perhaps by a link to it; give each file once")
    return [input_file(name) for name in names]


def input_file(name: str) -> InputFile:
    """One file as it is now; DataError if it cannot be read in parts."""
    is_url = is_remote(name)
    path = cast(Path, RemoteFile(name)) if is_url else Path(name)
    format, zipped = file_format(path, also=())
    if format == "parquet" and zipped:
        raise DataError(f"{path.name}: a gzipped Parquet file cannot be read in parts; unpack it first")
    if is_url:
        size, version = RemoteFile(name).version()
    else:
        with readable(path):
            status = path.stat()
        size, version = status.st_size, str(status.st_mtime_ns)
    if size == 0:
        raise DataError(f"{path.name} is empty (0 bytes); remove it from the input, or write it again")
    return InputFile(name, format, size, version)


def _names(source: str, out: Path | None) -> list[str]:
    if is_remote(source):
        found = [name for name in find_remote(source) if not is_pattern_url(source) or _is_table(name)]
    elif (path := Path(source).expanduser()).is_dir():
        found = [str(inside) for inside in sorted(path.rglob("*")) if inside.is_file() and _is_visible(inside, path)]
    elif is_pattern(source):
        found = [name for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
    else:
        found = [str(path)]
    is_output = out is not None and (out.is_file() or (out / MANIFEST).is_file())
    if out is not None and is_output and not is_remote(source) and (path.is_dir() or is_pattern(source)):
        found = [name for name in found if not Path(name).absolute().is_relative_to(out.absolute())]
    if not found:
        raise DataError(f"no table matches '{source}'; tables end in {', '.join(ENDINGS)}")
    return found if is_remote(source) else [str(Path(name).absolute()) for name in found]


def is_pattern_url(source: str) -> bool:
    """Whether an address stands for several files: a pattern or a folder."""
    return any(mark in source for mark in "*?[") or not _is_table(source)


def _is_visible(path: Path, folder: Path) -> bool:
    """Whether a file in a folder is a table: not one that engines leave there, such as _SUCCESS, and not our output."""
    is_output = (path.parent / MANIFEST).is_file()
    return _is_table(path.name) and not _hidden(path.relative_to(folder).parts) and not is_output


def _hidden(parts: Iterable[str]) -> bool:
    return any(part.startswith((".", "_")) for part in parts)


def _is_table(name: str) -> bool:
    return Path(name.lower().removesuffix(".gz")).suffix in ENDINGS
