"""One process per run folder: a lock that the operating system releases when the process ends, even if killed."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from phasefit.errors import RunError
from phasefit.files import system

LOCK = ".lock"
IN_USE = "another process is using"  # how the message about a lock that is held begins


def acquire_lock(path: Path) -> FileLock:
    """Lock the folder; RunError if another process holds the lock, or if the file is not an empty lock file."""
    _refuse_planted(path / LOCK)
    lock = FileLock(path / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(f"{IN_USE} {path}; wait until it is done, or stop it") from error
    except OSError as error:
        raise RunError(f"the run folder {path} cannot be written to: {error.strerror or error}") from error
    return lock


def _refuse_planted(path: Path) -> None:
    """Refuse a lock that is a link or has content: locking empties the file, and it may be anyone's."""
    try:
        status = path.lstat()
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_size or status.st_nlink > 1:
        raise RunError(f"'{path}' is not a lock file of phasefit; remove it if nothing else uses it")


def release_lock(path: Path, lock: FileLock) -> None:
    """Release the lock and delete its file; the file is deleted first, while no other process can hold the lock."""
    with suppress(OSError):  # Windows does not delete open files
        system.remove(path / LOCK)
    lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process is using the folder, or its lock cannot be acquired for another reason."""
    return bool(_problem(path))


def is_in_use(path: Path) -> bool:
    """Whether a process is using the folder; False for any other problem, which does not pass by waiting."""
    return _problem(path).startswith(IN_USE)


def _problem(path: Path) -> str:
    """Why the folder cannot be locked; empty if it can."""
    if not (path / LOCK).exists():
        return ""
    try:
        acquire_lock(path).release()
    except RunError as error:
        return str(error)
    return ""
