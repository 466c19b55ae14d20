"""Atomic writes: a file or folder appears complete under its name, or its name keeps what it had.

The content is written under a random temporary name in the same folder, synced to disk, and renamed. A name that was
planted beforehand is never followed, and a user's own file next to the target is never touched.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, RunError
from phasefit.files import system
from phasefit.files.held import discard_if_abandoned, held

TEMPORARY = re.compile(r"\.phasefit-[0-9a-f]{16}\.tmp")
ATTEMPTS = 100


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; RunError if that is not possible."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically; RunError if that is not possible."""
    try:
        write_file(path, lambda temporary: temporary.write_bytes(data))
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def write_new_text(path: Path, text: str) -> None:
    """Write a text file that must not exist; FileExistsError if it does, RunError if it cannot be written."""
    try:
        system.create(path)  # takes the name first, so that no file is replaced
    except FileExistsError:
        raise
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        write_text(path, text)
    except BaseException:
        discard_file(path)
        raise


def write_file(path: Path, fill: Callable[[Path], object]) -> None:
    """Write a file atomically: `fill` gets the name of an empty temporary file and writes the content."""
    for _ in range(ATTEMPTS):
        temporary = _temporary(path.parent, system.create)
        with held(temporary) as exists:
            if not exists:
                continue
            try:
                system.write(temporary, fill)
                _default_permissions(temporary)
                system.sync(temporary)
                system.rename(temporary, path)
            except BaseException:
                discard_file(temporary)
                raise
        system.sync(path.parent)
        return
    raise FileExistsError(f"no temporary file stays in {path.parent}")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which then takes the place of `path`; if the block fails, it is deleted."""
    temporary = _temporary(path.parent, system.make_folder)
    try:
        yield temporary
        sync_tree(temporary)
        replaced = _move_away(path)
        system.rename(temporary, path)
        system.sync(path.parent)
    except BaseException:
        discard_tree(temporary)
        raise
    if replaced is not None:
        discard_tree(replaced)


def make_folders(path: Path) -> None:
    """Create a folder and its missing parents, and sync their names; an existing folder is fine."""
    if path.is_dir():
        return
    make_folders(path.parent)
    with suppress(FileExistsError):
        system.make_folder(path)
        system.sync(path.parent)


def sync_tree(folder: Path) -> None:
    """Sync every file and folder in a folder, which a library may have written, and give files usual permissions."""
    for inside in sorted(folder.rglob("*"), reverse=True):
        if inside.is_file():
            _default_permissions(inside)
        system.sync(inside)
    system.sync(folder)


def discard_tree(path: Path) -> None:
    """Delete a folder if possible. Links are never followed: one in its place is left alone."""
    if not path.is_symlink():
        with suppress(OSError):
            system.remove_tree(path)
            system.sync(path.parent)


def discard_file(path: Path) -> None:
    """Delete a file or a link if possible."""
    with suppress(OSError):
        system.remove(path)


def move(source: Path, target: Path) -> None:
    """Rename a file or folder inside its folder, and sync the names."""
    system.rename(source, target)
    system.sync(target.parent)


def is_temporary(path: Path) -> bool:
    """Whether a name is one that phasefit writes under before it renames the file or folder."""
    return TEMPORARY.fullmatch(path.name) is not None


def discard_temporaries(folder: Path) -> None:
    """Delete the temporary files and folders that a killed process left in a folder."""
    for inside in list(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
        if is_temporary(inside):
            if inside.is_dir() and not inside.is_symlink():
                discard_tree(inside)
            else:
                discard_file(inside)


def discard_abandoned(folder: Path) -> None:
    """Delete the temporary files that a killed process left in a folder which other processes may be using."""
    for inside in list(folder.iterdir()) if folder.is_dir() else ():
        if is_temporary(inside) and inside.is_file() and not inside.is_symlink():
            discard_if_abandoned(inside)


def read_json(path: Path) -> Any:
    """The content of a JSON file in a model folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(
            f"'{path.parent}' is not a phasefit model: {path.name} is missing; use the folder of a run or saved model"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"'{path}' is damaged ({error}); train or save the model again") from error


def _temporary(folder: Path, make: Callable[[Path], None]) -> Path:
    """A new file or folder with a name that cannot be guessed."""
    for _ in range(ATTEMPTS):
        path = folder / f".phasefit-{secrets.token_hex(8)}.tmp"
        with suppress(FileExistsError):
            make(path)
            return path
    raise FileExistsError(f"no temporary name is free in {folder}")


def _move_away(path: Path) -> Path | None:
    """Rename an existing folder to a temporary name, because a rename does not replace a folder with content."""
    if not path.is_dir() or path.is_symlink():
        return None
    aside = path.with_name(f".phasefit-{secrets.token_hex(8)}.tmp")
    system.rename(path, aside)
    return aside


def _default_permissions(path: Path) -> None:
    """Give a file that a library wrote the permissions of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)  # safetensors writes files that only their owner can read
