"""The system calls that change a disk: the one seam through which phasefit writes, syncs, renames and deletes.

`atomic` builds on them; tests replace them to inject faults. Nothing else in the package calls them directly.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag; there O_EXCL alone refuses an existing link
BINARY = getattr(os, "O_BINARY", 0)


def create(path: Path) -> None:
    """Create an empty file; FileExistsError if the name exists, be it a file, a folder or a link."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | BINARY, 0o666))


def write(path: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write the content of a file that `create` made."""
    fill(path)


def append(path: Path, text: str) -> None:
    """Add text to the end of a file: logs, of which the last lines may be lost. A link is not followed."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK | BINARY, 0o666)
    with os.fdopen(handle, "ab") as file:
        file.write(text.encode("utf-8"))


def sync(path: Path) -> None:
    """Wait until a file or folder is on disk: otherwise a rename may reach the disk before the content."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename(source: Path, target: Path) -> None:
    """Rename a file or folder; an existing file is replaced."""
    os.replace(source, target)


def make_folder(path: Path) -> None:
    """Create one folder; FileExistsError if the name exists."""
    os.mkdir(path)


def remove(path: Path) -> None:
    """Delete a file or a link."""
    os.unlink(path)


def remove_folder(path: Path) -> None:
    """Delete an empty folder; OSError if anything is in it."""
    os.rmdir(path)


def remove_tree(path: Path) -> None:
    """Delete a folder and its content. Links in it are deleted, never followed; a link in its place is an error."""
    shutil.rmtree(path)
