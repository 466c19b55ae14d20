"""Faults of a disk, injected at `phasefit.files.system`, and the loss of what was not synced when the power fails.

`Disk` counts the operations of a scenario and fails one of them: with an error of the system, or with `PowerCut`, which
nothing may swallow and after which every further operation fails as well. `Disk.lose` then changes the files as a
power cut may have done:

- the content of a file is safe once the file is synced, otherwise it may be torn or empty;
- a name (created, renamed, removed) is safe once its folder is synced, otherwise the change may be undone.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from phasefit.files import lock, system

OPERATIONS = (
    *("create", "write", "append", "sync", "rename", "make_folder", "remove", "remove_folder", "remove_tree"),
)
TEMPORARY = re.compile(r"\.phasefit-[0-9a-f]{16}\.tmp")


class PowerCut(BaseException):
    """The machine is off; not an Exception, so that only cleanup code sees it."""


@dataclass(frozen=True)
class Loss:
    """What a power cut does to whatever was not synced."""

    names: str  # kept, undone, or mixed: for each folder, the first few changes are kept
    content: str  # whole, torn or empty

    def __str__(self) -> str:
        return f"names {self.names}, content {self.content}"


LOSSES = (
    Loss("kept", "whole"),  # the process alone was killed
    Loss("kept", "torn"),
    Loss("kept", "empty"),
    Loss("undone", "torn"),
    Loss("mixed", "empty"),
)


@dataclass(frozen=True)
class Change:
    """A change of a name in a folder that has not been synced since. Folders are known by their inode."""

    number: int
    folder: int
    name: str
    source: str | None = None  # the name before a rename
    saved: Path | None = None  # what the change replaced or removed, kept aside
    is_removal: bool = False


class Disk:
    """Counts operations, fails number `at`, and remembers what is not synced.

    Everything happens in the folder `root`; `aside` is one next to it. `error`: an error number of the system, or None
    for a power cut.
    """

    def __init__(self, root: Path, aside: Path, at: int = 0, error: int | None = None) -> None:
        self.operations: list[str] = []
        self.injected = False
        self.at, self._error, self._off = at, error, False
        self._root, self._aside, self._number = root, aside, 0
        self._changes: list[Change] = []
        self._dirty: set[int] = set()  # inodes of files
        self._real = {name: getattr(system, name) for name in OPERATIONS}
        self._locks: list[Any] = []
        aside.mkdir(parents=True, exist_ok=True)

    # --- injection ----------------------------------------------------------------------------------------------------

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the system calls; locks that are still held afterwards are released, as the system would."""
        real_lock, held = lock.FileLock, self._locks

        class TrackedLock(real_lock):  # type: ignore[misc,valid-type]
            def __init__(self, *arguments: Any, **named: Any) -> None:
                super().__init__(*arguments, **named)
                held.append(self)

        with pytest.MonkeyPatch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(system, name, getattr(self, name))
            patch.setattr(lock, "FileLock", TrackedLock)
            try:
                yield
            finally:
                for one in held:
                    one.release(force=True)

    def _count(self, name: str, path: Path, partly: Callable[[], object] = lambda: None) -> None:
        """Count an operation, or fail it after `partly` has done half of it."""
        if self._off:
            raise PowerCut
        self.operations.append(f"{name} {path}")
        if self.at == len(self.operations):
            self.injected = True
            partly()
            if self._error is None:
                self._off = True
                raise PowerCut
            raise OSError(self._error, os.strerror(self._error), str(path))

    # --- the operations -----------------------------------------------------------------------------------------------

    def create(self, path: Path) -> None:
        self._count("create", path)
        self._real["create"](path)
        self._changed(path)

    def write(self, path: Path, fill: Callable[[Path], object]) -> None:
        self._count("write", path, lambda: self._write(path, fill, half=True))
        self._write(path, fill)

    def _write(self, path: Path, fill: Callable[[Path], object], *, half: bool = False) -> None:
        before = set(path.rglob("*")) if path.is_dir() else set()
        self._real["write"](path, fill)
        self._dirty |= {inside.stat().st_ino for inside in (path, *path.rglob("*"))}
        for inside in sorted(set(path.rglob("*")) - before) if path.is_dir() else ():
            self._changed(inside)
        if half and path.is_file():
            os.truncate(path, path.stat().st_size // 2)
        elif half:  # of a folder, the second half of the files
            files = sorted(inside for inside in path.rglob("*") if inside.is_file())
            for inside in files[len(files) // 2 :]:
                inside.unlink()

    def append(self, path: Path, text: str) -> None:
        self._count("append", path, lambda: self._real["append"](path, text[: len(text) // 2]))
        if not path.exists():
            self._changed(path)
        self._real["append"](path, text)  # earlier lines stay: a torn log is not what is tested here

    def sync(self, path: Path) -> None:
        self._count("sync", path)
        node = path.stat().st_ino
        self._changes = [change for change in self._changes if change.folder != node]
        self._dirty.discard(node)

    def rename(self, source: Path, target: Path) -> None:
        self._count("rename", target)
        saved = self._save(target) if target.is_file() else None
        self._real["rename"](source, target)
        self._changed(target, source, saved)

    def make_folder(self, path: Path) -> None:
        self._count("make_folder", path)
        self._real["make_folder"](path)
        self._changed(path)

    def remove(self, path: Path) -> None:
        self._count("remove", path)
        if not path.exists():
            self._real["remove"](path)
        if path.name == lock.LOCK:  # locks are not tracked: the library creates them
            self._real["remove"](path)
            return
        self._changed(path, saved=self._save(path), is_removal=True)

    def remove_folder(self, path: Path) -> None:
        self._count("remove_folder", path)
        if any(path.iterdir()):
            self._real["remove_folder"](path)
        self._changed(path, saved=self._save(path), is_removal=True)

    def remove_tree(self, path: Path) -> None:
        self._count("remove_tree", path, lambda: self._remove_half(path))
        if not path.is_dir():
            self._real["remove_tree"](path)
        self._changed(path, saved=self._save(path), is_removal=True)

    def _remove_half(self, path: Path) -> None:
        files = sorted(inside for inside in path.rglob("*") if inside.is_file())
        for inside in files[: (len(files) + 1) // 2]:
            inside.unlink()

    # --- what is not synced -------------------------------------------------------------------------------------------

    def _changed(self, path: Path, source: Path | None = None, saved: Path | None = None, **more: bool) -> None:
        assert source is None or source.parent == path.parent
        name = None if source is None else source.name
        self._number += 1
        self._changes.append(Change(self._number, path.parent.stat().st_ino, path.name, name, saved, **more))

    def _save(self, path: Path) -> Path:
        """Move a file or folder out of sight, from where a power cut may bring it back."""
        self._number += 1
        saved = self._aside / str(self._number)
        os.rename(path, saved)
        return saved

    def distinct(self, losses: Sequence[Loss]) -> list[Loss]:
        """Those of the losses that differ here: often nothing, or only a name, is not synced."""
        different: dict[tuple[str, str], Loss] = {}
        for loss in losses:
            different.setdefault((loss.names if self._changes else "", loss.content if self._dirty else ""), loss)
        return list(different.values())

    def lose(self, loss: Loss, seed: int = 0) -> None:
        """Change the files as a power cut may have done."""
        undone = self._undone(loss.names, random.Random(seed))
        for change in reversed(self._changes):
            if change.number in undone:
                self._undo(change)
        for path in self._inside():
            if path.is_file() and path.stat().st_ino in self._dirty and loss.content != "whole":
                os.truncate(path, path.stat().st_size // 2 if loss.content == "torn" else 0)

    def _inside(self) -> list[Path]:
        return [self._root, *self._root.rglob("*")]

    def _undone(self, names: str, chance: random.Random) -> set[int]:
        """The numbers of the changes that are lost; in each folder, the last ones."""
        undone: set[int] = set()
        for folder in sorted({change.folder for change in self._changes}):
            here = [change.number for change in self._changes if change.folder == folder]
            kept = {"kept": len(here), "undone": 0}.get(names, chance.randint(0, len(here)))
            undone.update(here[kept:])
        return undone

    def _undo(self, change: Change) -> None:
        places = {path.stat().st_ino: path for path in (*self._inside(), *self._aside.rglob("*")) if path.is_dir()}
        path = places[change.folder] / change.name
        if not change.is_removal and path.exists():
            if change.source is None:
                self._save(path)
            else:
                os.rename(path, path.with_name(change.source))
        if change.saved is not None and not path.exists():
            os.rename(change.saved, path)


def state_of(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder, by name; temporary names, which are random, are numbered."""
    state: dict[str, str] = {}
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
        name = TEMPORARY.sub(".phasefit-temporary", path.relative_to(folder).as_posix())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else "folder"
        while name in state:
            name += "+"
        state[name] = digest
    return state
