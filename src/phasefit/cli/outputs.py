"""Files that commands write: refused before the work if they could not be written after it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import RunError

if TYPE_CHECKING:
    import pandas as pd


def check_out(path: Path | None, overwrite: bool, also: Collection[str] = ()) -> None:
    """A clear error if this file exists, has an unknown ending (`also` adds known ones) or has no folder to lie in."""
    from phasefit.data.io.files import file_format

    if path is None:
        return
    if path.suffix.lower() not in also:
        file_format(path, also)
    if path.is_dir():
        raise RunError(f"{path} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise RunError(f"{path} exists already; give another name or --overwrite")
    check_folder(path.parent)


def check_folder(folder: Path) -> None:
    """A clear error if nothing could be written here."""
    if not folder.is_dir():
        raise RunError(f"there is no folder {folder}; make it first or write elsewhere")
    if not os.access(folder, os.W_OK):
        raise RunError(f"the folder {folder} may not be written to")


def write_out(frame: pd.DataFrame, path: Path | None, quiet: bool = False) -> None:
    """Write the table to its file, or as CSV to standard output."""
    from phasefit.data.io.frames import write_frame

    write_frame(frame, path)
    if path is not None:
        say_written(path, len(frame), quiet)


def say_written(path: Path, rows: int, quiet: bool = False) -> None:
    """Tell how much went where."""
    from phasefit.cli.console import stderr

    if not quiet:
        stderr().print(f"{rows:,} rows written to {path}", soft_wrap=True)


def check_out_folder(folder: Path | None, overwrite: bool) -> None:
    """A clear error if this folder holds something already, or could not be made."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; give the name of a folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise RunError(f"the folder {folder} is not empty; give another one or --overwrite")
    check_folder(next(parent for parent in (folder, *folder.absolute().parents) if parent.exists()))
