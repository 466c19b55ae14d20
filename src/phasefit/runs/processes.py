"""Whether this is one of several processes, from the environment (without torch), and how such a process exits."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TIMEOUT = 10.0  # seconds to wait for other processes, which may be dead


def is_main_process() -> bool:
    """Whether this process writes files and prints."""
    return os.environ.get("RANK", "0") == "0"


def has_others() -> bool:
    """Whether several processes train the run."""
    return os.environ.get("WORLD_SIZE", "1") != "1"


@contextmanager
def shutdown_process_group() -> Iterator[None]:
    """Leave the process group before a command exits; without a group, do nothing.

    Gloo's threads may still hold tensors of the last exchange, and a thread that releases one while the interpreter
    shuts down aborts the process. Destroying the group does not end those threads once DDP has used it, so the process
    exits as those of Python's `multiprocessing` do: exit handlers first, then `os._exit`.
    """
    try:
        yield
    except SystemExit as error:
        if not _leave_group():
            raise
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        with suppress(KeyboardInterrupt):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, KeyboardInterrupt):
                stream.flush()
        os._exit(code)


def _leave_group() -> bool:
    """Leave the process group; False if there is none. Does not import torch."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False

    def leave() -> None:
        with suppress(Exception):  # the others may have died
            distributed.destroy_process_group()

    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    with suppress(KeyboardInterrupt):
        leaving.join(TIMEOUT)
    return True
