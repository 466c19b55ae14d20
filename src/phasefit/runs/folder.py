"""Run folders: create, lock, reopen, finish or remove them.

Imports no torch. What only an unfinished run needs is in its folder `checkpoints` and in its manifest under `resume`
and `replaces`; both are removed when it finishes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, RunError
from phasefit.files import system
from phasefit.files.atomic import (
    discard_file,
    discard_temporaries,
    discard_tree,
    is_temporary,
    make_folders,
    move,
    read_json,
    write_json,
)
from phasefit.files.integrity import FILES, hash_files
from phasefit.files.links import refuse_controls, refuse_links
from phasefit.files.lock import LOCK, acquire_lock, is_locked, release_lock
from phasefit.files.manifest import FINISHED, FORMAT, MANIFEST, check_format, versions
from phasefit.training.checkpoint_folder import CHECKPOINTS

RUNS = Path("runs")
UNFINISHED = ("resume", "replaces")  # manifest keys of an unfinished run


class RunFolder:
    """A folder that one process writes. With `overwrite`, the old run is moved away until the new one is finished."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        self.path = path
        self._manifest: dict[str, Any] = {}
        self._replaces: list[Path] = []  # removed when this run is finished; the first was in this folder
        check_free(path, overwrite=overwrite)
        old_lock = acquire_lock(path) if holds_something(path) else None
        try:
            if old_lock is not None:
                self._replaces = _move_away(path)
            make_folders(path)
            self._lock = acquire_lock(path)
            discard_temporaries(path)  # of a process that was killed before it wrote the manifest
        except BaseException as error:
            kept = self._put_back()
            if old_lock is not None:
                release_lock(kept or path, old_lock)
            if not isinstance(error, OSError):
                raise
            problem = (
                str(error) if isinstance(error, RunError) else f"cannot create the run folder {path}: {error.strerror}"
            )
            raise RunError(problem + (f"; the previous run is in '{kept}'" if kept else "")) from error
        if old_lock is not None:
            release_lock(self._replaces[0], old_lock)

    @classmethod
    def reopen(cls, path: Path) -> RunFolder:
        """Open the folder of a started run again."""
        read_started(path)
        lock = acquire_lock(path)
        manifest = read_started(path)  # again: another process may just have finished it
        folder = cls.__new__(cls)
        folder.path, folder._manifest, folder._lock = path, manifest, lock
        folder._replaces = _replaced(path, manifest)
        return folder

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished."""
        return self._manifest.get("status") == FINISHED

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Write the manifest of a started run; `resume` in the facts is what resuming needs."""
        manifest = {"format": FORMAT, "status": "started", **facts, **self._replacing(), "versions": versions()}
        self._write(manifest)

    @property
    def facts(self) -> dict[str, Any]:
        """The manifest without the keys of an unfinished run."""
        return {name: value for name, value in self._manifest.items() if name not in UNFINISHED}

    def finish(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Write the manifest, which makes the results valid; then remove checkpoints and the replaced run."""
        now = {"format": FORMAT, "status": FINISHED, FILES: hash_files(self.path)}
        self._write({**self.facts, **facts, **now, **self._replacing()})
        self.clear()
        return self._manifest

    def clear(self) -> None:
        """Remove what a finished run no longer needs, and unlock the folder; safe to repeat after a kill.

        The run is complete, so a failure here is no error; the manifest keeps naming what could not be removed.
        """
        discard_tree(self.path / CHECKPOINTS)
        discard_temporaries(self.path)
        for aside in self._replaces:
            _discard_run(aside)
        self._replaces = [aside for aside in self._replaces if aside.exists()]
        if "replaces" in self._manifest:
            with suppress(RunError):
                self._write({**self.facts, **self._replacing()})
        release_lock(self.path, self._lock)

    def leave(self) -> None:
        """Unlock the folder as it is: another process may resume the run."""
        self._lock.release()

    def abandon(self) -> None:
        """Remove a failed run and restore the old one."""
        self._lock.release()
        discard_tree(self.path)
        self._put_back()
        if self.path.parent == RUNS:
            with suppress(OSError):  # it holds other runs
                system.remove_folder(RUNS)

    def _put_back(self) -> Path | None:
        """Restore the old run; return its location if another process has created a new folder in its place."""
        if not self._replaces:
            return None
        with suppress(OSError):
            system.remove_folder(self.path)  # removes only an empty folder
        if self.path.exists():
            return self._replaces[0]
        move(self._replaces.pop(0), self.path)
        return None

    def _replacing(self) -> dict[str, list[str]]:
        return {"replaces": [aside.name for aside in self._replaces]} if self._replaces else {}

    def _write(self, manifest: dict[str, Any]) -> None:
        write_json(self.path / MANIFEST, manifest)
        self._manifest = manifest


def read_started(path: Path) -> dict[str, Any]:
    """The manifest of a run that is finished or can be resumed; anything else is refused."""
    aside = _aside(path)
    kept = f"; the run that it would replace is in '{aside}'" if aside.is_dir() else ""
    if not path.is_dir():
        raise RunError(f"there is no run to resume in '{path}': no such folder{kept}")
    refuse_links(path)
    try:
        manifest = check_format(path, read_json(path / MANIFEST))
    except ModelError as error:
        raise RunError(f"there is no run to resume: {error}{kept}") from error
    if manifest.get("status") != FINISHED and not isinstance(manifest.get("resume"), dict):
        raise RunError(f"the run in '{path}' cannot be resumed; train again with --overwrite{kept}")
    return manifest


def holds_something(path: Path) -> bool:
    """Whether a folder contains anything but a lock and temporary files, which a killed process may have left."""
    return path.is_dir() and any(inside.name != LOCK and not is_temporary(inside) for inside in path.iterdir())


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is not empty, unless it contains a run and may be overwritten."""
    refuse_controls(path)
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; give a folder with -o")
    if not holds_something(path):
        return
    if not (path / MANIFEST).is_file():
        raise RunError(f"{path} holds files that are not a phasefit run; give another folder with -o")
    if overwrite:
        return
    if "resume" in _manifest(path):
        if is_locked(path):
            raise RunError(f"another process is using {path}; choose another folder with -o")
        raise RunError(
            f"{path} holds an unfinished run; resume it with --resume {path}, replace it with --overwrite, or give "
            "another folder with -o"
        )
    raise RunError(f"{path} already holds a run; give another folder with -o, or replace it with --overwrite")


def next_folder(name: str, root: Path = RUNS) -> Path:
    """Create runs/NAME, then runs/NAME-2, and so on, so that no other process uses the same folder."""
    base = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    number = 1
    while True:
        candidate = root / (base if number == 1 else f"{base}-{number}")
        try:
            make_folders(root)
            system.make_folder(candidate)
            system.sync(root)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise RunError(f"cannot create the run folder {candidate}: {error.strerror or error}") from error
        else:
            return candidate


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest; empty if it is missing or damaged."""
    with suppress(ModelError):
        content = read_json(path / MANIFEST)
        return content if isinstance(content, dict) else {}
    return {}


def _move_away(path: Path) -> list[Path]:
    """Move a run to NAME.old, or NAME.old-2 ...; return that folder and those that the run was itself replacing."""
    here = Path.cwd()
    if path.resolve() in (here, *here.parents):
        raise RunError(f"{path} is the current folder or one above it; change to another folder to replace it")
    older = _replaced(path, _manifest(path))
    aside, number = _aside(path), 1
    while aside.exists():
        number += 1
        aside = _aside(path).with_name(f"{_aside(path).name}-{number}")
    move(path, aside)
    return [aside, *older]


def _discard_run(folder: Path) -> None:
    """Delete a run, its manifest last: as long as that is there, a later attempt knows the folder."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for inside in [each for each in folder.iterdir() if each.name != MANIFEST]:
        if inside.is_dir() and not inside.is_symlink():
            discard_tree(inside)
        else:
            discard_file(inside)
    if [each.name for each in folder.iterdir()] == [MANIFEST]:
        discard_file(folder / MANIFEST)
    with suppress(OSError):
        system.remove_folder(folder)
        system.sync(folder.parent)


def _replaced(path: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """The folders that a run replaces, from its manifest: NAME.old(-N) next to it, if empty or with a run.

    They are deleted when the run is finished, and the manifest may come from a stranger.
    """
    names = manifest.get("replaces")
    waiting = re.compile(re.escape(_aside(path).name) + r"(-[1-9]\d*)?")
    own = (
        [name for name in names if isinstance(name, str) and waiting.fullmatch(name)] if isinstance(names, list) else []
    )
    folders = [path.resolve().with_name(name) for name in own]
    return [folder for folder in folders if not folder.is_symlink() and folder.is_dir() and _is_run_or_empty(folder)]


def _is_run_or_empty(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() or not any(folder.iterdir())


def _aside(path: Path) -> Path:
    """Where a run that is being replaced is kept."""
    whole = path.resolve()
    return (path if path.name else whole).with_name(f"{whole.name}.old")
