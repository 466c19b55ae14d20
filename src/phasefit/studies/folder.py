"""Folders of studies: studies/NAME with tables and page, and studies/cells with the results that all studies share.

A study is identified by its question (cells and tables): the same command resumes it, a different one gets another
folder. Files of another question are never replaced without --overwrite.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, RunError
from phasefit.files import system
from phasefit.files.atomic import discard_abandoned, is_temporary, make_folders, read_json, write_json
from phasefit.files.links import refuse_controls, refuse_links

STUDIES = Path("studies")
CELLS = "cells"
ROWS = "rows"  # tables written by `search` and `auto`
MANIFEST = "study.json"
FORMAT = 1


class StudyFolder:
    """The folder of one study; created before anything is trained."""

    def __init__(self, path: Path, cache: Path) -> None:
        self.path, self.cache = path, cache

    @classmethod
    def open(
        cls,
        name: str,
        question: Mapping[str, Any],
        out: Path | None,
        *,
        overwrite: bool = False,
        option: str = "-o",
    ) -> StudyFolder:
        """The given folder, or the first of studies/NAME, NAME-2 ... that is free or has the same question.

        `option` is the command-line option for the folder, for messages.
        """
        digest = _digest(question)
        path = out if out is not None else _next(name, digest)
        refuse_controls(path)
        refuse_links(path)
        _check(path, digest, option, overwrite=overwrite)
        try:
            if overwrite and _question(path) != digest:  # rows of another question must not be reused
                _delete_rows(path)
            make_folders(path)
            if not (path / MANIFEST).is_file() or overwrite:  # before any other file, which would be refused without it
                write_json(path / MANIFEST, {"format": FORMAT, "status": "started", "question": digest, **question})
            cache = cls.cache_of(out)
            make_folders(cache)
        except OSError as error:
            if isinstance(error, RunError):
                raise
            raise RunError(f"the folder {path} cannot be created: {error.strerror or error}") from error
        return cls(path, cache)

    @staticmethod
    def cache_of(out: Path | None) -> Path:
        """Folder of its cells; nothing is created."""
        return STUDIES / CELLS if out is None else out / CELLS

    def finish(self, content: Mapping[str, Any], *, complete: bool = True) -> None:
        """Record that all tables are written, with the results of all cells or of some."""
        status = "finished" if complete else "incomplete"
        write_json(self.path / MANIFEST, {**read_json(self.path / MANIFEST), "status": status, **content})
        discard_abandoned(self.path)


def _digest(question: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode()).hexdigest()[:24]


def _next(name: str, digest: str) -> Path:
    base = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "study"
    base = f"{base}-study" if base == CELLS else base
    number = 1
    while True:
        path = STUDIES / (base if number == 1 else f"{base}-{number}")
        if not path.exists() or _question(path) == digest:
            return path
        number += 1


def _check(path: Path, digest: str, option: str, *, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; give another folder with {option}")
    if not path.is_dir() or all(map(is_temporary, path.iterdir())) or _question(path) == digest:
        return
    if not (path / MANIFEST).is_file():
        raise RunError(f"{path} contains files that are not a phasefit study; give another folder with {option}")
    if not overwrite:
        raise RunError(
            f"{path} contains another study; give another folder with {option}, or replace it with --overwrite"
        )


def _delete_rows(path: Path) -> None:
    for file in (path / ROWS).glob("*.parquet"):
        system.remove(file)


def _question(path: Path) -> str | None:
    """Digest of the question of the study in a folder; None if there is no study."""
    try:
        content = read_json(path / MANIFEST)
    except ModelError:
        return None
    return content.get("question") if isinstance(content, dict) else None
