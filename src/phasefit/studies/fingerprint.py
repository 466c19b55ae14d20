"""Checksums of what goes into a cell: tables and models by what they hold. Imports no torch."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from phasefit.data.sources import source_files
from phasefit.data.task_file import is_task_file, read_task_file
from phasefit.errors import DataError

CHUNK = 1 << 20


def data_fingerprint(source: Any, data_dir: Path | None = None) -> str:
    """The checksum of a file, of all files of a named dataset or folder, or of all tables of a task file."""
    if not isinstance(source, str | Path):
        raise DataError("a study reads its tables from files: give a path or a dataset's name")
    return _of_source(str(source), data_dir)


@lru_cache(maxsize=256)
def _of_source(source: str, data_dir: Path | None) -> str:
    if is_task_file(source):
        file = read_task_file(source)
        tables = [*file.tasks, *([file.before] if file.before else [])]
        parts = [part for spec in tables for part in (spec.data, spec.validation, spec.test) if part is not None]
        return _hash([repr(file), *(_of_source(part, data_dir) for part in parts)])
    files = source_files(source, data_dir)
    return _hash(f"{part} {_of_file(file)}" for part, file in sorted(files.items())) if files else source


@lru_cache(maxsize=64)
def model_fingerprint(model: str | None) -> str:
    """The checksum of a model's folder; the name of one that is looked for elsewhere."""
    if model is None:
        return "default"
    path = Path(model).expanduser()
    if not path.is_dir():
        return model
    return _hash(f"{file.relative_to(path)} {_of_file(file)}" for file in sorted(path.rglob("*")) if file.is_file())


def _of_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            digest.update(part)
    return digest.hexdigest()


def _hash(parts: Any) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
