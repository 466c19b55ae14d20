"""One of several processes? Known from the environment, before torch is imported; and how such a process ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PATIENCE = 10.0  # seconds for taking leave of processes that may be dead


def is_main_process() -> bool:
    """Whether this process writes files and speaks to the user."""
    return os.environ.get("RANK", "0") == "0"


def has_others() -> bool:
    """Whether more than one process works on the run."""
    return os.environ.get("WORLD_SIZE", "1") != "1"


@contextmanager
def shutdown_process_group() -> Iterator[None]:
    """A command that joined other processes leaves them before it ends, however it ends; for all else it is nothing.

    Gloo's threads may still hold tensors of the last exchange, and a thread that lets go of one while the interpreter
    is taken down aborts the process. Destroying the group does not end those threads once DDP has used it, so that the
    process ends as those of Python's `multiprocessing` do: its exit handlers are run, then the system ends it.
    """
    try:
        yield
    except SystemExit as ending:
        if not _leave_group():
            raise
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        with suppress(KeyboardInterrupt):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, KeyboardInterrupt):
                stream.flush()
        os._exit(code)


def _leave_group() -> bool:
    """Whether there was a group of processes; torch is not imported to find out."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False

    def leave() -> None:
        with suppress(Exception):  # the others may have gone without a word
            distributed.destroy_process_group()

    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    with suppress(KeyboardInterrupt):
        leaving.join(PATIENCE)
    return True
