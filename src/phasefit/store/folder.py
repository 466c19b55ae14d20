"""Run folders: where a run goes, how it begins, and how it ends or is taken back. Imports no torch."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.errors import RunError
from phasefit.store.manifest import FORMAT, MANIFEST, read_json, versions, write_json

RUNS = Path("runs")


class RunFolder:
    """A folder that one run fills. With `overwrite`, the old run is kept aside until the new one is finished."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        self.path = path
        self._aside: Path | None = None
        check_free(path, overwrite=overwrite)
        try:
            if path.exists() and any(path.iterdir()):
                self._aside = _set_aside(path)
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"the run folder {path} cannot be made: {error.strerror or error}") from error
        self._manifest: dict[str, Any] = {}

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Write down what is about to be done."""
        self._manifest = {"format": FORMAT, "status": "started", **facts, "versions": versions()}
        write_json(self.path / MANIFEST, self._manifest)

    @property
    def facts(self) -> dict[str, Any]:
        """What the manifest says so far."""
        return dict(self._manifest)

    def finish(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest last: it makes the rest valid. Then what was replaced goes."""
        self._manifest |= {**facts, "status": "finished"}
        write_json(self.path / MANIFEST, self._manifest)
        if self._aside is not None:
            shutil.rmtree(self._aside, ignore_errors=True)
        return self._manifest

    def abandon(self) -> None:
        """Take back a run that failed: no half results, and the old run is back."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._aside is not None:
            self._aside.rename(self.path)


def _set_aside(path: Path) -> Path:
    """Move what is there to NAME.old; a killed run that was itself replacing NAME.old just goes."""
    aside = path.with_name(path.name + ".old")
    if aside.exists():
        if read_json(path / MANIFEST).get("status") == "finished":
            raise RunError(f"{aside} is in the way (an earlier run that was being replaced); move or delete it")
        shutil.rmtree(path)
    else:
        path.rename(aside)
    return aside


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds something, unless it is a run and may be replaced."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; give another folder with -o")
    if not path.exists() or not any(path.iterdir()):
        return
    if not (path / MANIFEST).is_file():
        raise RunError(f"{path} holds something that is not a run of phasefit; give another folder with -o")
    if not overwrite:
        raise RunError(f"{path} already holds a run; give another folder with -o, or replace it with --overwrite")


def next_folder(name: str, root: Path = RUNS) -> Path:
    """runs/NAME, then runs/NAME-2, and so on."""
    base = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    candidate, number = root / base, 1
    while candidate.exists():
        number += 1
        candidate = root / f"{base}-{number}"
    return candidate
