"""Output files of commands: checked before the work starts, so that a result is never lost."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import RunError

if TYPE_CHECKING:
    import pandas as pd


def check_out(path: Path | None, overwrite: bool, also: Collection[str] = ()) -> None:
    """Raise an error if the file exists, has an unknown ending (`also` adds known ones) or has no folder."""
    from phasefit.data.io.files import file_format

    if path is None:
        return
    if path.suffix.lower() not in also:
        file_format(path, also)
    if path.is_dir():
        raise RunError(f"{path} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise RunError(f"{path} exists already; choose another name, or use --overwrite")
    check_folder(path.parent)


def check_folder(folder: Path) -> None:
    """Raise an error if the folder is not writable."""
    if not folder.is_dir():
        raise RunError(f"the folder '{folder}' does not exist; create it first, or choose another one")
    if not os.access(folder, os.W_OK):
        raise RunError(f"the folder {folder} is not writable; choose another one, or change its permissions")


def write_out(frame: pd.DataFrame, path: Path | None, quiet: bool = False) -> None:
    """Write the table to its file, or as CSV to standard output."""
    from phasefit.data.io.frames import write_frame

    write_frame(frame, path)
    if path is not None:
        report_written(path, len(frame), quiet)


def report_written(path: Path, rows: int, quiet: bool = False) -> None:
    """Print how many rows were written, and where."""
    from phasefit.cli.console import stderr

    if not quiet:
        stderr().print(f"{rows:,} rows written to {path}", soft_wrap=True)


def check_out_folder(folder: Path | None, overwrite: bool) -> None:
    """Raise an error if the folder is not empty or cannot be created."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; give the name of a folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise RunError(f"the folder {folder} is not empty; choose another one, or use --overwrite")
    check_folder(next(parent for parent in (folder, *folder.absolute().parents) if parent.exists()))
