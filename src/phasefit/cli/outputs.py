"""Output files of commands: checked before the work starts and saved elsewhere if they cannot be written.

A result is never lost: what fails to be written under its name is saved next to it or in the temporary folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import DataError, PhasefitError, RunError

if TYPE_CHECKING:
    import pandas as pd

STDOUT = "standard output"
ROWS = ".jsonl"  # takes any value, so it is the format of rows that another could not hold


def check_out(path: Path | None, overwrite: bool, also: Collection[str] = (), escape_formulas: bool = False) -> None:
    """Raise an error if the file exists, has an unknown ending (`also` adds known ones) or has no folder."""
    from phasefit.data.io.files import file_format

    if path is None:
        check_stdout()
        return
    format = "other" if path.suffix.lower() in also else file_format(path, also)[0]
    if escape_formulas and format not in ("csv", "tsv"):
        raise DataError(f"--escape-formulas applies to CSV and TSV, not to {path.name}; remove it, or write to a .csv")
    if path.is_dir():
        raise RunError(f"{path} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise RunError(f"{path} exists already; choose another name, or use --overwrite")
    check_folder(path.parent)


def check_stdout() -> None:
    """Raise an error if the result would be printed and standard output is closed."""
    if sys.stdout is None:  # Python's value for a closed one
        raise RunError(f"{STDOUT} is closed, so the result cannot be printed; write it to a file with -o")


def check_folder(folder: Path) -> None:
    """Raise an error if the folder is not writable."""
    if not folder.is_dir():
        raise RunError(f"the folder '{folder}' does not exist; create it first, or choose another one")
    if not os.access(folder, os.W_OK):
        raise RunError(f"the folder {folder} is not writable; choose another one, or change its permissions")


def write_out(frame: pd.DataFrame, path: Path | None, quiet: bool = False, escape_formulas: bool = False) -> None:
    """Write the table to its file, or as CSV to standard output; on a terminal, control characters are escaped."""
    from phasefit.cli.console import echo
    from phasefit.data.io.frames import csv_text, write_frame

    with rescued(lambda other: write_frame(frame, other), path, ROWS):
        if path is None and sys.stdout.isatty():
            echo(csv_text(frame, escape_formulas=escape_formulas).removesuffix("\n"))
        else:
            write_frame(frame, path, escape_formulas=escape_formulas)
    if path is not None:
        report_written(path, len(frame), quiet)


@contextmanager
def rescued(save: Callable[[Path], object], path: Path | None, ending: str) -> Iterator[None]:
    """If the block cannot write `path` (None: standard output), `save` the result elsewhere and name the place."""
    from phasefit.cli.errors import silence_output

    try:
        yield
    except BrokenPipeError:  # the reader has enough
        raise
    except Exception as error:
        if path is None:
            silence_output()
        problem = _problem(error, path)
        where = _save_elsewhere(save, path, ending)
        if where is None:
            raise RunError(f"{problem}; the result could not be saved anywhere else either") from error
        raise RunError(f"{problem}; the result is saved as {where} instead") from error


def _problem(error: Exception, path: Path | None) -> str:
    if isinstance(error, PhasefitError):
        return str(error)
    reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{STDOUT if path is None else path} cannot be written: {reason}"


def _save_elsewhere(save: Callable[[Path], object], path: Path | None, ending: str) -> Path | None:
    """Save the result next to the file, or in the temporary folder; None if both fail."""
    from phasefit.data.io.files import stem

    name = "predictions" if path is None else stem(path)
    for next_to_it in (True, False):
        try:
            parent = Path() if path is None else path.parent
            where = _free_name(parent if next_to_it else Path(tempfile.mkdtemp(prefix="phasefit-")), name, ending)
            save(where)
        except Exception:  # noqa: BLE001 - the first error is reported
            continue
        return where
    return None


def _free_name(folder: Path, name: str, ending: str) -> Path:
    number = 1
    while True:
        path = folder / (f"{name}{ending}" if number == 1 else f"{name}-{number}{ending}")
        if not os.path.lexists(path):
            return path
        number += 1


def report_written(path: Path, rows: int, quiet: bool = False) -> None:
    """Print how many rows were written, and where."""
    from phasefit.cli.console import stderr

    if not quiet:
        stderr().print(f"{rows:,} rows written to {path}", soft_wrap=True)


def check_out_folder(folder: Path | None, overwrite: bool) -> None:
    """Raise an error if the folder is not empty or cannot be created."""
    if folder is None:
        check_stdout()
        return
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; give the name of a folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise RunError(f"the folder {folder} is not empty; choose another one, or use --overwrite")
    check_folder(next(parent for parent in (folder, *folder.absolute().parents) if parent.exists()))
