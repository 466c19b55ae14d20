"""Where studies lie: studies/NAME with its tables and page, and studies/cells with the results that all share.

A study is known by what it asks (its specification): the same command goes on where it was, another one gets another
folder. Nothing that is there is replaced unless it came from the same question.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.errors import RunError
from phasefit.files.atomic import read_json, write_json

STUDIES = Path("studies")
CELLS = "cells"
ROWS = "rows"  # tables that whoever chooses wrote down
MANIFEST = "study.json"
FORMAT = 1


class StudyFolder:
    """The folder of one study; begun before anything is trained."""

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
        """The folder that was given, or the first of studies/NAME, NAME-2 ... that is free or asks the same.

        `option` is how the command line gives it, for messages.
        """
        digest = _digest(question)
        path = out if out is not None else _next(name, digest)
        _check(path, digest, option, overwrite=overwrite)
        try:
            if overwrite and _question(path) != digest:  # its rows are another question's, and would be taken for ours
                _forget_rows(path)
            path.mkdir(parents=True, exist_ok=True)
            cache = cls.cache_of(out)
            cache.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError(f"the folder {path} cannot be made: {error.strerror or error}") from error
        folder = cls(path, cache)
        if not (path / MANIFEST).is_file() or overwrite:
            write_json(path / MANIFEST, {"format": FORMAT, "status": "started", "question": digest, **question})
        return folder

    @staticmethod
    def cache_of(out: Path | None) -> Path:
        """Where its cells would lie; nothing is made."""
        return STUDIES / CELLS if out is None else out / CELLS

    def finish(self, content: Mapping[str, Any]) -> None:
        """Note that the tables are whole."""
        write_json(self.path / MANIFEST, {**read_json(self.path / MANIFEST), "status": "finished", **content})


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
    if not path.is_dir() or not any(path.iterdir()) or _question(path) == digest:
        return
    if not (path / MANIFEST).is_file():
        raise RunError(f"{path} holds something that is not a study of phasefit; give another folder with {option}")
    if not overwrite:
        raise RunError(f"{path} holds another study; give another folder with {option}, or replace it with --overwrite")


def _forget_rows(path: Path) -> None:
    for file in (path / ROWS).glob("*.parquet"):
        file.unlink()


def _question(path: Path) -> str | None:
    """What the study in a folder asks, as its checksum."""
    try:
        content = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content.get("question") if isinstance(content, dict) else None
