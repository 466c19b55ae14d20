"""One process per run folder: a lock that the system lets go of when the process ends, however it ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from phasefit.errors import RunError

LOCK = ".lock"


def locked(path: Path) -> FileLock:
    """Hold the folder, or say who does not let go of it."""
    lock = FileLock(path / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(f"another process is using {path}; wait until it is done, or stop it") from error
    except OSError as error:
        raise RunError(f"the run folder {path} cannot be written to: {error.strerror or error}") from error
    return lock


def unlocked(path: Path, lock: FileLock) -> None:
    """Let go of a finished folder and leave no trace; the file goes first, while nobody else can hold it."""
    with suppress(OSError):  # a system that removes no open file keeps it
        (path / LOCK).unlink()
    lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process is at work in the folder."""
    if not (path / LOCK).exists():
        return False
    try:
        locked(path).release()
    except RunError:
        return True
    return False
