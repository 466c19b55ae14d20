"""The location of checkpoints. Imports no torch, unlike `checkpoints`, which reads and writes them."""

from __future__ import annotations

from pathlib import Path

CHECKPOINTS = "checkpoints"


def numbered(run: Path) -> list[Path]:
    """The complete checkpoints of a run, oldest first."""
    folders = (run / CHECKPOINTS).glob("*") if (run / CHECKPOINTS).is_dir() else ()
    return sorted((path for path in folders if path.name.isdecimal()), key=lambda path: int(path.name))
