"""The ledger of the league: one small file per finished cell, named by its key. Ledgers are merged by copying files."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from league_plan import Cell

from phasefit.files.atomic import make_folders, write_text
from phasefit.studies.key import digest

FOLDER = Path(__file__).parent / "ledger" / "league"
FORMAT = 1
ENTRY = re.compile(r"[0-9a-f]{24}\.json")
SCORES = ("accuracy", "macro_f1", "log_loss", "ece")


@dataclass(frozen=True)
class Result:
    """A finished cell. `right` states for each scored row whether the answer is right."""

    cell: Cell
    scores: Mapping[str, float | None]
    cpu_seconds: Mapping[str, float]
    right: np.ndarray
    rows: Mapping[str, int]
    fingerprint: str
    peak_mb: int
    machine: str  # CPU seconds are compared only on the same one
    versions: str

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(self.right.mean())


def find(folder: Path, cell: Cell) -> Result | None:
    """The result of a cell; None if it is missing. A damaged file or one of another cell is refused."""
    path = folder / f"{cell.key}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rest = {name: value for name, value in content.items() if name != "checksum"}
        if content["format"] != FORMAT or content["checksum"] != digest(rest):
            raise ValueError("its checksum or format differs")
        if content["key"] != cell.key or digest(content["identity"]) != cell.key:
            raise ValueError("it is the result of another cell")
        right = unpacked(content["right"], content["rows"]["scored"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(
            f"{path.name} in the ledger is not a usable result of {cell.name} ({error}); restore it, or remove it to "
            "run the cell again"
        ) from None
    names = ("scores", "cpu_seconds", "rows", "fingerprint", "peak_mb", "machine", "versions")
    return Result(cell, right=right, **{name: content[name] for name in names})


def add(folder: Path, cell: Cell, result: Mapping[str, Any]) -> None:
    """Write the result of a cell unless there is one: a file is never changed."""
    path = folder / f"{cell.key}.json"
    if path.exists():
        return
    entry = {"format": FORMAT, "key": cell.key, "name": cell.name, "identity": cell.identity(), **result}
    entry["right"] = packed(entry["right"])
    entry["checksum"] = digest(entry)
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, default=str)}" for name, value in entry.items()
    )
    make_folders(folder)
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def others(folder: Path, cells: Sequence[Cell]) -> int:
    """Number of results that no cell of the plan has, for example of earlier settings or of the other stage."""
    known = {f"{cell.key}.json" for cell in cells}
    names = {path.name for path in folder.glob("*.json") if ENTRY.fullmatch(path.name)}
    return len(names - known)


def packed(right: Sequence[int] | np.ndarray) -> str:
    """One bit per row, as text."""
    return base64.b64encode(np.packbits(np.asarray(right, dtype=bool)).tobytes()).decode()


def unpacked(text: str, rows: int) -> np.ndarray:
    """The bits of `packed`; ValueError if there are too few."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8))
    if not 0 < rows <= len(bits):
        raise ValueError(f"it has {len(bits)} answers for {rows} rows")
    return bits[:rows].astype(bool)
