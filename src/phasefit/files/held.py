"""Temporary files are locked while they are written, so that those of a killed process can be recognised.

Where the platform or the file system has no such locks, nothing is ever taken for abandoned.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from phasefit.files import system

fcntl: Any = None
with suppress(ImportError):  # not on Windows
    fcntl = import_module("fcntl")


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Lock a new file while the block runs; False if another process took it for abandoned and removed it."""
    if fcntl is None:
        yield True
        return
    try:
        handle = os.open(path, os.O_RDONLY | system.NO_LINK)
    except FileNotFoundError:
        yield False
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            same = os.path.samestat(os.fstat(handle), os.lstat(path))
        except FileNotFoundError:
            same = False
        yield same
    finally:
        os.close(handle)


def discard_if_abandoned(path: Path) -> None:
    """Delete a temporary file that no process is writing."""
    if fcntl is None:
        return
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | system.NO_LINK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            system.remove(path)  # still locked, so that its writer sees it
        finally:
            os.close(handle)
