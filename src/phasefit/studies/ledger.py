"""A ledger: a folder with the results of cells and without their weights, to copy, commit and merge. Imports no torch.

Each result is a small file named by its cell's key, so that two ledgers are merged by copying one's files into the
other. A file is written once and never changed; several processes may add files at the same time. Files may come from
strangers: each is checked against its checksum, its types and the key of its cell before it is used.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import fields, replace
from errno import EACCES
from pathlib import Path
from typing import Any, Literal

from phasefit.errors import RunError
from phasefit.files.atomic import make_folders, read_json, write_text
from phasefit.files.checked import checked, reason
from phasefit.files.links import refuse_controls
from phasefit.studies.cell import Cell
from phasefit.studies.key import digest
from phasefit.studies.result import RESULT, Result, SavedResult

FORMAT = 1
ENTRY = re.compile(r"[0-9a-f]{24}\.json")
MOST_BYTES = 4 << 20  # of a file; a result has a few kB
DIGITS = 7  # significant ones of replicates, which only errors are computed from
KEPT = (  # parts of result.json
    *("cell", "metrics", "rows", "replicates", "own_test", "own_validation"),
    *("seconds", "memory_mb", "threads", "versions"),
)


class Entry(SavedResult):
    """A file of a ledger; the command is computed from the cell, because users may copy it."""

    format: Literal[1]
    key: str
    identity: dict[str, Any]
    checksum: str
    command: str = ""


class Ledger:
    """The results in a folder, which is created before the first one is added."""

    def __init__(self, path: Path) -> None:
        refuse_controls(path)
        if path.exists() and not path.is_dir():
            raise RunError(f"--ledger {path} is a file; give a folder")
        inside = next((parent for parent in path.parents if parent.exists()), None)
        if inside is not None and not inside.is_dir():
            raise RunError(f"--ledger {path}: '{inside}' is a file; give a folder")
        self.path = path

    def check_writable(self) -> None:
        """Create the folder; RunError if results cannot be added to it, which would be noticed only after a run."""
        try:
            make_folders(self.path)
            if not os.access(self.path, os.W_OK):
                raise PermissionError(EACCES, os.strerror(EACCES))
        except OSError as error:
            why = getattr(error, "strerror", None) or error
            raise RunError(f"--ledger {self.path} cannot be written to: {why}; give another folder") from None

    def find(self, cell: Cell) -> Result | None:
        """The result of a cell; None if it is not in, RunError for a damaged file or one of another cell."""
        path = self._file(cell)
        try:
            content = _content(path)
            if content is None:
                return None
            entry: Entry = checked(Entry, content)
            _check(entry, content, cell.key)
        except ValueError as error:
            raise RunError(
                f"'{path}' is not a usable result of {cell.name} ({reason(error)}); restore it, or remove it to run "
                "the cell again"
            ) from None
        result = Result(**{one.name: getattr(entry, one.name) for one in fields(Result)})
        return replace(result, command=replace(cell, threads=result.threads).command())

    def add(self, cell: Cell, folder: Path) -> Result | None:
        """Add the result in a cell's folder unless the ledger has one; returns the result in the ledger."""
        known = self.find(cell)
        if known is not None:
            return known
        saved = read_json(folder / RESULT)
        make_folders(self.path)
        write_text(self._file(cell), _text(entry_of(cell, saved)))
        return self.find(cell)

    def size(self) -> int:
        """The number of results, of any cells."""
        return sum(bool(ENTRY.fullmatch(path.name)) for path in self.path.iterdir()) if self.path.is_dir() else 0

    def ignored(self) -> list[str]:
        """Names of JSON files that no cell can have, for example copies that a merge has renamed."""
        if not self.path.is_dir():
            return []
        names = sorted(path.name for path in self.path.iterdir())
        return [name for name in names if ".json" in name and not name.startswith(".") and not ENTRY.fullmatch(name)]

    def _file(self, cell: Cell) -> Path:
        return self.path / f"{cell.key}.json"


def open_ledger(path: Path | None) -> Ledger | None:
    """The ledger of an option; None if it is not given."""
    return None if path is None else Ledger(path.expanduser())


def entry_of(cell: Cell, saved: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file of a ledger, from that of result.json."""
    entry = {"format": FORMAT, "key": cell.key, **{name: saved[name] for name in KEPT if name in saved}}
    entry["identity"] = cell.identity()
    entry["metrics"] = _without_confusion(entry["metrics"])
    replicates: Mapping[str, list[float]] = entry.get("replicates", {})
    rounded = {name: [float(f"{value:.{DIGITS}g}") for value in values] for name, values in replicates.items()}
    entry["replicates"] = rounded
    return {**entry, "checksum": digest(entry)}


def _content(path: Path) -> Any:
    """The content of a file; None if there is none. ValueError for links, pipes and large or damaged files."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(error.strerror or error) from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    if status.st_size > MOST_BYTES:
        raise ValueError(f"{status.st_size:,} bytes are too large")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(error.strerror or error) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        raise ValueError("it is not complete JSON, so that it was damaged or edited") from None


def _check(entry: Entry, content: Mapping[str, Any], key: str) -> None:
    if digest({name: value for name, value in content.items() if name != "checksum"}) != entry.checksum:
        raise ValueError("its checksum differs, so that it was damaged or edited")
    if entry.key != key or digest(entry.identity) != key:
        raise ValueError("it is the result of another cell")


def _without_confusion(metrics: Any) -> Any:
    """Metrics without confusion matrices, which no table shows."""
    if isinstance(metrics, Mapping):
        kept = {
            name: value for name, value in metrics.items() if not (isinstance(value, Mapping) and "matrix" in value)
        }
        return {name: _without_confusion(value) for name, value in kept.items()}
    return [_without_confusion(value) for value in metrics] if isinstance(metrics, list) else metrics


def _text(entry: Mapping[str, Any]) -> str:
    """JSON with a line for each part, so that a file is short and its differences can be read."""
    lines = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
