"""Whether this is one of several processes, from the environment (without torch), and how such a process exits."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from phasefit.errors import PhasefitError

TIMEOUT = 10.0  # seconds to wait for other processes, which may be dead
# Variables of launchers, in the order in which Accelerate reads them: torchrun, Intel MPI, Open MPI, MVAPICH.
RANKS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
SIZES = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
# Parts of the messages of gloo and of torch's store when a connection breaks.
BROKEN = ("gloo/transport", "gloo::", "connection closed by peer", "connection reset by peer", "broken pipe")


def is_main_process() -> bool:
    """Whether this process writes files and prints."""
    return _first_number(RANKS, 0) == 0


def process_count() -> int:
    """The number of processes that the launcher started."""
    return _first_number(SIZES, 1)


def has_others() -> bool:
    """Whether several processes train the run."""
    return process_count() > 1


def check_processes(joined: int) -> str | None:
    """Compare the processes that joined with those that the launcher was asked for; return a warning, if any.

    Processes that were started but did not join are refused: each would train on its own.
    """
    started = process_count()
    if joined != started:
        raise PhasefitError(
            f"the launcher started {started} processes, but {joined} joined; start them with torchrun "
            "--nproc_per_node N -m phasefit train ..."
        )
    # With --cpu (and without MPI), accelerate prepares for several processes, but starts one.
    if joined == 1 and not _is_set(SIZES) and _is_set(("ACCELERATE_MIXED_PRECISION",)) and _is_set(("MASTER_PORT",)):
        return (
            "accelerate launch was asked for several processes but started one, which trains alone; to train on CPUs "
            "in several, use: torchrun --nproc_per_node N -m phasefit train ..."
        )
    return None


def is_lost_process(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, means that another process of the run has ended."""
    if not has_others():
        return False
    lost = getattr(sys.modules.get("torch.distributed"), "DistError", ())
    while error is not None:
        if isinstance(error, lost):
            return True
        if isinstance(error, RuntimeError) and not isinstance(error, PhasefitError):
            message = str(error).lower()
            if any(part in message for part in BROKEN):
                return True
        error = error.__cause__ or error.__context__
    return False


def _first_number(names: tuple[str, ...], otherwise: int) -> int:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return otherwise


def _is_set(names: tuple[str, ...]) -> bool:
    return any(os.environ.get(name) for name in names)


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
