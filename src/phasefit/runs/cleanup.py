"""Clean up a run folder after a failure: remove the run, or leave it ready to be resumed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import Interrupted, PhasefitError, RunError
from phasefit.events import Note
from phasefit.runs.folder import RunFolder
from phasefit.training.checkpoint_folder import numbered

if TYPE_CHECKING:
    from phasefit.events import Listener


@contextmanager
def cleanup_on_failure(folder: RunFolder, listen: Listener, *, fresh: bool, resumable: bool = True) -> Iterator[None]:
    """Keep the folder locked while the run is active, and keep whatever can be used when it fails.

    A new run that fails before its first checkpoint, or with an error that would only repeat, is removed. An
    interrupted run stays and can be resumed, unless its tables were in memory; so does a run that failed because of a
    full disk or a bug.
    """
    advice = (
        f"resume it with: {command(folder.path)}"
        if resumable
        else "train again with --overwrite (tables in memory cannot be resumed)"
    )
    try:
        yield
    except KeyboardInterrupt as error:
        folder.leave()
        raise Interrupted(advice, getattr(error, "signal", 2)) from None
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


def command(path: Path) -> str:
    """The command that resumes a run."""
    return f"phasefit train --resume {shlex.quote(str(path))}"


def _sentence(error: OSError) -> str:
    if isinstance(error, RunError):
        return str(error)
    return f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
