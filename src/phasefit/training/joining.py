"""Wait until all processes of a run are there, before they connect to each other.

Torch waits in C++, where no signal is handled: if a process dies before it has joined, its launcher cannot stop the
others for half a minute. This wait ends at once.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta

import torch.distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]

from phasefit.errors import RunError
from phasefit.events import Listener, Note

LIMIT = 30 * 60.0  # seconds, as in torch
PATIENCE = 60.0  # seconds before the wait is reported
PAUSE = 0.05


def wait_for_processes(listen: Listener, check: Callable[[], None] = lambda: None) -> Store | None:
    """Wait for the processes that the launcher announces; keep the returned store until they have connected.

    `check` is called again and again, and ends the wait by raising.
    """
    needed = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    rank, count, host, port = (os.environ.get(name, "") for name in needed)
    if not dist.is_available() or dist.is_initialized() or not (rank and host and port) or count in ("", "1"):
        return None
    waiting = _Wait(int(count), listen, check)
    hosts = rank == "0" and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    while not hosts and not _answers(host, int(port)):
        waiting.pause(joined=1)
    store = TCPStore(host, int(port), None, hosts, timedelta(seconds=LIMIT), wait_for_workers=False, multi_tenant=True)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    names = [f"phasefit/{attempt}/{number}" for number in range(int(count))]
    store.set(names[int(rank)], "here")
    while missing := [name for name in names if not store.check([name])]:
        waiting.pause(joined=len(names) - len(missing))
    return store


class _Wait:
    """A wait that is reported after a while and ends after a long one."""

    def __init__(self, count: int, listen: Listener, check: Callable[[], None]) -> None:
        self._count, self._listen, self._check = count, listen, check
        self._started, self._reported = time.monotonic(), False

    def pause(self, joined: int) -> None:
        self._check()
        waited = time.monotonic() - self._started
        if waited > LIMIT:
            raise RunError(f"only {joined} of {self._count} processes have joined in {LIMIT / 60:g} minutes")
        if waited > PATIENCE and not self._reported:
            self._reported = True
            self._listen(Note(f"waiting for other processes: {joined} of {self._count} have joined", warning=True))
        time.sleep(PAUSE)


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True
