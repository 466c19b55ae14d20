"""Clean up a run folder after a failure: remove the run, or leave it ready to be resumed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import Interrupted, LostProcess, PhasefitError, RunError
from phasefit.events import Note
from phasefit.files.manifest import FINISHED
from phasefit.runs.folder import RunFolder, read_started
from phasefit.runs.processes import process_count
from phasefit.runs.saved_specification import is_resumable
from phasefit.training.checkpoint_folder import numbered

if TYPE_CHECKING:
    from phasefit.events import Listener


@contextmanager
def cleanup_on_failure(folder: RunFolder, listen: Listener, *, fresh: bool, resumable: bool = True) -> Iterator[None]:
    """Keep the folder locked while the run is active, and keep whatever can be used when it fails.

    A new run that fails before its first checkpoint, or with an error that would only repeat, is removed. An
    interrupted run stays and can be resumed, unless its tables were in memory; so does a run that lost one of its
    processes, or failed because of a full disk or a bug.
    """
    advice = how_to_resume(folder.path, resumable=resumable)
    try:
        yield
    except KeyboardInterrupt as error:
        folder.leave()
        raise Interrupted(advice, getattr(error, "signal", 2)) from None
    except LostProcess as error:
        folder.leave()
        raise LostProcess(f"{error}; {advice}") from error
    except BaseException as error:
        repeats = isinstance(error, PhasefitError) and not isinstance(error, RunError)
        if fresh and not folder.is_finished and (repeats or not numbered(folder.path)):
            folder.abandon()
            raise
        folder.leave()
        if repeats or (isinstance(error, RunError) and not resumable):
            raise
        if isinstance(error, OSError) and (isinstance(error, RunError) or error.errno is not None):
            raise RunError(f"{_sentence(error)}; when this is fixed, {advice}") from error
        listen(Note(f"the progress so far is kept; {advice}", warning=True))
        raise


@contextmanager
def advise_on_failure(folder: Callable[[], Path]) -> Iterator[None]:
    """In a process that does not write the run: add how to resume it, if the process that does has left it so."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(_remains(folder()), getattr(error, "signal", 2)) from None
    except LostProcess as error:
        raise LostProcess(f"{error}; {_remains(folder())}") from error


def _remains(path: Path) -> str:
    try:
        manifest = read_started(path)
        if manifest.get("status") == FINISHED:
            return f"the run in '{path}' is finished"
        return how_to_resume(path, resumable=is_resumable(manifest["resume"].get("request", {})))
    except (PhasefitError, AttributeError):
        return "the first process reports what is left of the run"


def how_to_resume(path: Path, *, resumable: bool) -> str:
    """What to do about an unfinished run."""
    if not resumable:
        return "train again with --overwrite (tables in memory cannot be resumed)"
    count = process_count()
    return f"resume it with: {command(path)}" + (f" (on {count} processes)" if count > 1 else "")


def command(path: Path) -> str:
    """The command that resumes a run."""
    return f"phasefit train --resume {shlex.quote(str(path))}"


def _sentence(error: OSError) -> str:
    if isinstance(error, RunError):
        return str(error)
    return f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
