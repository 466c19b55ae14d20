"""Run folders: where a run goes, how it begins, is left and opened again, and how it ends or is taken back.

Imports no torch. What a run needs only until it is finished lies in its folder `checkpoints` and in its manifest under
`resume` and `replaces`: all go when it is.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, RunError
from phasefit.files.atomic import read_json, write_json
from phasefit.files.lock import LOCK, acquire_lock, is_locked, release_lock
from phasefit.files.manifest import FINISHED, FORMAT, MANIFEST, check_format, versions
from phasefit.training.checkpoint_folder import CHECKPOINTS

RUNS = Path("runs")
UNFINISHED = ("resume", "replaces")  # what a manifest says only until its run is finished


class RunFolder:
    """A folder that one process fills. With `overwrite`, the old run is kept aside until the new one is finished."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        self.path = path
        self._manifest: dict[str, Any] = {}
        self._replaces: list[Path] = []  # what goes when this run is finished; the first is what stood here
        check_free(path, overwrite=overwrite)
        old = acquire_lock(path) if holds_something(path) else None
        try:
            if old is not None:
                self._replaces = _set_aside(path)
            path.mkdir(parents=True, exist_ok=True)
            self._lock = acquire_lock(path)
        except BaseException as error:
            kept = self._put_back()
            if old is not None:
                release_lock(kept or path, old)
            if not isinstance(error, OSError):
                raise
            problem = (
                str(error) if isinstance(error, RunError) else f"the run folder {path} cannot be made: {error.strerror}"
            )
            raise RunError(problem + (f"; the run that was there is in '{kept}'" if kept else "")) from error
        if old is not None:
            release_lock(self._replaces[0], old)

    @classmethod
    def reopen(cls, path: Path) -> RunFolder:
        """The folder of a run that was begun and not finished."""
        read_begun(path)
        lock = acquire_lock(path)
        manifest = read_begun(path)  # again: another process may just have finished it
        folder = cls.__new__(cls)
        folder.path, folder._manifest, folder._lock = path, manifest, lock
        folder._replaces = _beside(path, manifest)
        return folder

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end."""
        return self._manifest.get("status") == FINISHED

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Write down what is about to be done; `resume` in the facts is what it takes to do it again."""
        manifest = {"format": FORMAT, "status": "started", **facts, **self._replacing(), "versions": versions()}
        self._write(manifest)

    @property
    def facts(self) -> dict[str, Any]:
        """What the manifest says so far of the run as it will be when it is finished."""
        return {name: value for name, value in self._manifest.items() if name not in UNFINISHED}

    def finish(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest last: it makes the rest valid. Then what was replaced goes, and what only resuming needs."""
        self._write({**self.facts, **facts, "status": FINISHED, **self._replacing()})
        self.clear()
        return self._manifest

    def clear(self) -> None:
        """Remove what a finished run needs no more, and leave; also for one that was killed while it did so."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)
        for aside in self._replaces:
            shutil.rmtree(aside, ignore_errors=True)
        if "replaces" in self._manifest:
            self._write(self.facts)
        release_lock(self.path, self._lock)

    def leave(self) -> None:
        """Let go of the folder as it is: another process may take it up."""
        self._lock.release()

    def abandon(self) -> None:
        """Take back a run that failed: no half results, and the old run is back."""
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)
        self._put_back()
        if self.path.parent == RUNS:
            with suppress(OSError):  # it holds other runs
                RUNS.rmdir()

    def _put_back(self) -> Path | None:
        """Bring back what stood here; where it must wait on, because another process has taken its place."""
        if not self._replaces:
            return None
        with suppress(OSError):
            self.path.rmdir()  # only an empty folder goes
        if self.path.exists():
            return self._replaces[0]
        self._replaces.pop(0).rename(self.path)
        return None

    def _replacing(self) -> dict[str, list[str]]:
        return {"replaces": [aside.name for aside in self._replaces]} if self._replaces else {}

    def _write(self, manifest: dict[str, Any]) -> None:
        write_json(self.path / MANIFEST, manifest)
        self._manifest = manifest


def read_begun(path: Path) -> dict[str, Any]:
    """The manifest of a run that can be resumed, or that is finished; anything else is refused."""
    aside = _aside(path)
    kept = f"; the run that it was to replace is in '{aside}'" if aside.is_dir() else ""
    if not path.is_dir():
        raise RunError(f"there is no run to resume in '{path}': no such folder{kept}")
    try:
        manifest = check_format(path, read_json(path / MANIFEST))
    except ModelError as error:
        raise RunError(f"there is no run to resume: {error}{kept}") from error
    if manifest.get("status") != FINISHED and not isinstance(manifest.get("resume"), dict):
        raise RunError(f"what is in '{path}' is no run that can be resumed; train it again with --overwrite{kept}")
    return manifest


def holds_something(path: Path) -> bool:
    """Whether anything but a lock is in a folder."""
    return path.is_dir() and any(inside.name != LOCK for inside in path.iterdir())


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds something, unless it is a run and may be replaced."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; give another folder with -o")
    if not holds_something(path):
        return
    if not (path / MANIFEST).is_file():
        raise RunError(f"{path} holds something that is not a run of phasefit; give another folder with -o")
    if overwrite:
        return
    if "resume" in _manifest(path):
        if is_locked(path):
            raise RunError(f"another process is using {path}; choose another folder with -o")
        raise RunError(
            f"{path} holds an unfinished run; go on with --resume {path}, replace it with --overwrite, or give another "
            "folder with -o"
        )
    raise RunError(f"{path} already holds a run; give another folder with -o, or replace it with --overwrite")


def next_folder(name: str, root: Path = RUNS) -> Path:
    """runs/NAME, then runs/NAME-2, and so on; the folder is made, so that no other process takes the same."""
    base = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    number = 1
    while True:
        candidate = root / (base if number == 1 else f"{base}-{number}")
        try:
            candidate.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise RunError(f"the run folder {candidate} cannot be made: {error.strerror or error}") from error
        else:
            return candidate


def _manifest(path: Path) -> dict[str, Any]:
    """What is there of a manifest; damaged ones say nothing."""
    with suppress(ModelError):
        content = read_json(path / MANIFEST)
        return content if isinstance(content, dict) else {}
    return {}


def _set_aside(path: Path) -> list[Path]:
    """Move what is there to NAME.old, or NAME.old-2 ...; that folder, and those that it was itself replacing."""
    here = Path.cwd()
    if path.resolve() in (here, *here.parents):
        raise RunError(f"{path} is the folder that you are in, or one above it; go elsewhere to replace it")
    older = _beside(path, _manifest(path))
    aside, number = _aside(path), 1
    while aside.exists():
        number += 1
        aside = _aside(path).with_name(f"{_aside(path).name}-{number}")
    path.rename(aside)
    return [aside, *older]


def _beside(path: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """The folders that a run replaces, by what its manifest says."""
    names = manifest.get("replaces", [])
    beside = [path.resolve().with_name(name) for name in names if isinstance(name, str) and Path(name).name == name]
    return [aside for aside in beside if aside.is_dir()]


def _aside(path: Path) -> Path:
    """Where a run that is being replaced waits."""
    whole = path.resolve()
    return (path if path.name else whole).with_name(f"{whole.name}.old")
