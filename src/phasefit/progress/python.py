"""What Python users see while a job runs: progress if somebody is watching, warnings, and notes in the log.

Warnings are raised with `warnings` (category `PhasefitWarning`); notes go to the logger "phasefit" at level INFO.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing import current_process
from pathlib import Path
from typing import Any

from phasefit.control_characters import one_line
from phasefit.errors import PhasefitWarning, RecipeError
from phasefit.events import Event, Listener, Note
from phasefit.parameter_names import python_notes
from phasefit.runs.processes import is_main_process

LOGGER = logging.getLogger("phasefit")
PACKAGE = str(Path(__file__).parents[1])


@contextmanager
def python_progress(listener: Listener | None, verbose: bool | int | None) -> Iterator[Listener]:
    """A listener that shows progress, passes warnings and notes on, and calls `listener` with every event.

    `verbose` is None (show progress if somebody is watching), True or False.
    """
    if not (verbose is None or isinstance(verbose, int)):
        raise RecipeError(f"verbose must be None, True or False, not {verbose!r}")
    with _display(verbose) as show:

        def receive(event: Event) -> None:
            if isinstance(event, Note) and is_main_process():
                pass_on(event)
            if not isinstance(event, Note) or not (event.warning or _logged()):
                show(event)
            if listener is not None:
                listener(event)

        yield python_notes(receive)


def _display(verbose: bool | int | None) -> AbstractContextManager[Any]:
    """The display for this process: a notebook, a terminal, plain lines, or nothing."""
    from phasefit.progress.notebook import NotebookProgress, in_notebook

    if (verbose is not None and not verbose) or not is_main_process():
        return nullcontext(_ignore)
    if verbose is None and not (_is_first() and (in_notebook() or _is_terminal())):
        return nullcontext(_ignore)
    if in_notebook():
        return NotebookProgress()
    from phasefit.progress.console import stderr

    console = stderr()
    if _is_first() and console.is_terminal and not console.is_dumb_terminal:
        from phasefit.progress.live import LiveProgress

        return LiveProgress(console)
    from phasefit.progress.plain import PlainProgress

    return PlainProgress(console)


def _ignore(event: Event) -> None:
    """Show nothing."""


def _is_first() -> bool:
    """Whether this is the process and the thread that somebody started, and not a worker of joblib, for instance."""
    return current_process().name == "MainProcess" and threading.current_thread() is threading.main_thread()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _logged() -> bool:
    """Whether the program shows notes by its own logging, so that they are not shown twice."""
    return LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()


def pass_on(note: Note) -> None:
    """Raise a warning where phasefit was called, or log a note."""
    text = one_line(note.text)
    if not note.warning:
        LOGGER.info("%s", text)
        return
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, PhasefitWarning, stacklevel=level)
