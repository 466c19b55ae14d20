"""Read the files of an exported folder: bounded, checked against the manifest, and never through a symbolic link."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from phasefit_runtime.errors import ExportError

MANIFEST = "export.json"
CARD = "README.md"  # not read, so that people may edit it
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # a plain file name: no folder, no hidden file
SHA256 = re.compile(r"[0-9a-f]{64}")
LARGEST_MANIFEST = 64 << 20
LARGEST = {".json": 64 << 20, ".onnx": 2 << 30, ".xml": 64 << 20}  # bytes, by ending; parsing takes a multiple of them
LARGEST_OTHER = 16 << 30
AGAIN = "export the run again"


@dataclass(frozen=True)
class FileFacts:
    """What the manifest states about a file."""

    sha256: str
    size: int


def read_bounded(path: Path, largest: int) -> bytes:
    """The content of a regular file of at most `largest` bytes."""
    with _open(path, largest) as file:
        # The size of the file, not the limit: reading allocates as many bytes as it is asked for.
        return file.read(os.fstat(file.fileno()).st_size)


def _open(path: Path, largest: int) -> BufferedReader:
    """A regular file of at most `largest` bytes."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)  # neither wait for a pipe nor follow a link
    if path.is_symlink():  # systems without O_NOFOLLOW
        raise ExportError(f"'{path}' is a symbolic link, which is not followed; replace it with the file itself")
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise ExportError(f"'{path}' is missing; {AGAIN}") from None
    except OSError as error:
        raise ExportError(f"'{path}' cannot be read: {error.strerror or error}; check its permissions") from None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        raise ExportError(f"'{path}' is not a regular file; {AGAIN}")
    if facts.st_size > largest:
        os.close(descriptor)
        raise ExportError(f"'{path}' is larger than {largest:,} bytes; {AGAIN}")
    return os.fdopen(descriptor, "rb")


def read_checked(folder: Path, name: str, files: Mapping[str, FileFacts]) -> bytes:
    """The content of a file that has exactly the size and the sha256 of the manifest."""
    if name not in files:
        raise ExportError(f"'{folder}': {MANIFEST} does not list '{name}'; {AGAIN}")
    path = folder / name
    content = read_bounded(path, _size(path, files[name]))
    if hashlib.sha256(content).hexdigest() != files[name].sha256:
        raise _changed(path)
    return content


def check_rest(folder: Path, files: Mapping[str, FileFacts], read: set[str]) -> None:
    """Check the listed files that were not `read`; the card may be edited, and other files are ignored."""
    for name in files:
        if name not in read and name != CARD:
            path = folder / name
            with _open(path, _size(path, files[name])) as file:  # in pieces: it may be larger than the memory
                if hashlib.file_digest(file, "sha256").hexdigest() != files[name].sha256:
                    raise _changed(path)


def _size(path: Path, facts: FileFacts) -> int:
    """The size that the manifest states, if it is allowed."""
    largest = LARGEST.get(path.suffix, LARGEST_OTHER)
    if facts.size > largest:
        raise ExportError(f"'{path}' must not be larger than {largest:,} bytes, but {MANIFEST} states {facts.size:,}")
    return facts.size


def _changed(path: Path) -> ExportError:
    return ExportError(f"'{path}' has changed since it was exported; restore it, or {AGAIN}")
