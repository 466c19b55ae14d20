"""Paths from files that may contain anything: a name that cannot be a path is one that does not exist."""

from __future__ import annotations

from pathlib import Path


def path_named(name: str | Path) -> Path:
    """The path with its ~ expanded; unchanged if there is no such user."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def exists(path: Path) -> bool:
    """Whether there is a file or folder of this name; False for one that is too long."""
    try:
        return path.exists()
    except OSError:
        return False
