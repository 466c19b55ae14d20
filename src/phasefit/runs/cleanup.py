"""How a run folder is left when its run does not come to its end: taken back, or ready to be resumed."""

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
    """Whatever happens inside, the folder is locked until then, and after it nothing is lost that could be used.

    A new run that fails before its first checkpoint, or in a way that would only repeat itself, is taken back. A
    stopped one stays and can be resumed, unless its tables were in memory; so does one that failed for want of room,
    or by a bug.
    """
    advice = (
        f"go on with: {command(folder.path)}" if resumable else "its tables were in memory; repeat it with --overwrite"
    )
    try:
        yield
    except KeyboardInterrupt as error:
        folder.leave()
        raise Interrupted(advice, getattr(error, "signal", 2)) from None
    except BaseException as error:
        repeats = isinstance(error, PhasefitError) and not isinstance(error, RunError)
        if fresh and (repeats or not numbered(folder.path)):
            folder.abandon()
            raise
        folder.leave()
        if repeats or (isinstance(error, RunError) and not resumable):
            raise
        if isinstance(error, OSError) and (isinstance(error, RunError) or error.errno is not None):
            raise RunError(f"{_sentence(error)}; when that is mended, {advice}") from error
        listen(Note(f"what was done so far is kept; {advice}", warning=True))
        raise


def command(path: Path) -> str:
    """What a user types to resume a run."""
    return f"phasefit train --resume {shlex.quote(str(path))}"


def _sentence(error: OSError) -> str:
    if isinstance(error, RunError):
        return str(error)
    return f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
