"""The only file that imports Ray: connecting to a cluster, waiting for results, and which failures are lost workers.

Ray pickles code and arguments between its processes. That is between processes of one user, never in files.
"""

from __future__ import annotations

import io
import os
import platform
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from phasefit.engines.choice import EngineChoice, study_engine
from phasefit.errors import MissingExtra, RunError
from phasefit.files.manifest import versions

INSTALL = "--engine ray needs Ray; install it with: pip install 'phasefit[ray]'"
SECONDS = 10.0  # to reach a cluster
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # an empty frame of type 4 of HTTP/2
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS
STORE = 100 << 20  # bytes for objects of a cluster on this machine: only small ones are sent
VARIABLES = ("PHASEFIT_DATA", "HF_HOME", "HF_HUB_OFFLINE", "OMP_NUM_THREADS")  # that change what a worker finds
CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0", on every system: Ray listens on loopback, and connects to it
PRIORITY = "RAY_worker_niceness"  # 15 by default, so that workers starve on a machine that does other work too
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # its new default; unset, Ray warns
}


def load_ray(choice: EngineChoice) -> Any:
    """Ray itself, without usage statistics; raises if it is not installed."""
    os.environ.update(QUIET)
    if choice.address is None or choice.address.rpartition(":")[0] in LOOPBACK:
        os.environ[CLUSTERS] = "0"
    if choice.address is None:
        os.environ.setdefault(PRIORITY, "0")
    try:
        import ray
    except ImportError:
        raise MissingExtra(INSTALL) from None
    return ray


@dataclass(frozen=True)
class Machine:
    """What the machine of the command has, and every worker must have too."""

    folder: str
    variables: dict[str, str]
    versions: dict[str, str]
    python: str

    @classmethod
    def here(cls) -> Machine:
        """This machine."""
        variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
        return cls(os.getcwd(), variables, versions(), platform.python_version())

    def enter(self) -> None:
        """Use the same folder and variables in a worker; RunError if it could not give the same result."""
        own = {**versions(), "Python": platform.python_version()}
        for name, version in {**self.versions, "Python": self.python}.items():
            if own.get(name) != version:
                raise RunError(
                    f"the Ray worker on {platform.node()} has {name} {own.get(name, '(none)')}, and this command "
                    f"{version}; install the same versions on all machines"
                )
        try:
            os.chdir(self.folder)
        except OSError:
            raise RunError(
                f"the folder {self.folder} does not exist on {platform.node()}; all nodes of the cluster must "
                "share the files of this command"
            ) from None
        os.environ.update(self.variables)


class Cluster:
    """A connection to a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def slots(self, threads: int) -> int:
        """How many workers with this number of threads the cluster has room for now."""
        return int(self.ray.cluster_resources().get("CPU", 0)) // threads

    def check(self, threads: int) -> None:
        """RunError if no machine has that many cores: Ray would wait for one forever."""
        most = max((int(node["Resources"].get("CPU", 0)) for node in self.ray.nodes() if node["Alive"]), default=0)
        if most < threads:
            raise RunError(
                f"the largest node of the Ray cluster has {most} CPUs, fewer than the {threads} threads of a worker; "
                f"use --threads {max(most, 1)}" if most else "the Ray cluster has no CPUs; add a node to it"
            )  # fmt: skip

    def start_actor(self, kind: type, threads: int, *arguments: Any) -> Any:
        """A new actor; it starts once a node has room. A lost actor is replaced by whoever needs one."""
        return self.ray.remote(num_cpus=threads, max_restarts=0)(kind).remote(*arguments)

    def start_task(
        self, function: Callable[..., Any], threads: int, again: type[Exception], tries: int, *arguments: Any
    ) -> Any:
        """A new task, which Ray runs again, on any node, if its worker is lost or it raises `again`."""
        task = self.ray.remote(num_cpus=threads, max_retries=tries - 1, retry_exceptions=[again])(function)
        return task.remote(*arguments)

    def wait(self, pending: Sequence[Any], seconds: float | None = None) -> list[Any]:
        """The results that are there; waits for the first one, at most that many seconds."""
        ready, _ = self.ray.wait(list(pending), num_returns=1, timeout=seconds)
        return list(ready)

    def result(self, reference: Any) -> Any:
        """The result of a call; its own error if it raised one, LostWorker if its process or node is gone."""
        errors = self.ray.exceptions
        try:
            return self.ray.get(reference)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError,
                errors.TaskCancelledError) as error:  # fmt: skip
            raise LostWorker(str(error).splitlines()[0]) from None

    def end_actor(self, actor: Any) -> None:
        """Kill an actor."""
        self.ray.kill(actor)

    def cancel(self, reference: Any, *, force: bool = False) -> None:
        """Interrupt a task as Control-C would, or kill its worker."""
        self.ray.cancel(reference, force=force)


class LostWorker(Exception):  # noqa: N818 - named after what happened
    """The process or the node of a worker is gone."""


class OwnOutput:
    """Standard output for this thread only: threads of Ray print there about lost workers, which would spoil JSON."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        """Write what this thread prints; drop anything else."""
        return int(self._stream.write(text)) if threading.get_ident() == self._thread else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def connected(choice: EngineChoice) -> Iterator[Cluster]:
    """A connection to the cluster at the address, or to one that is started on this machine; closed afterwards."""
    ray = load_ray(choice)
    if ray.is_initialized():  # by the program that called us: its connection, its cluster
        yield Cluster(ray)
        return
    check_reachable(choice)
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "address": choice.address or "local"}
    if choice.address is None:
        how |= {"include_dashboard": False, "object_store_memory": STORE}
    with redirect_stdout(cast(Any, OwnOutput(sys.stdout))):
        try:
            ray.init(**how)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise RunError(f"the Ray cluster cannot be used: {reason:.200}") from None
        try:
            yield Cluster(ray)
        finally:
            with redirect_stdout(io.StringIO()):  # what Ray has collected and not printed yet
                ray.shutdown()


def check_reachable(choice: EngineChoice) -> None:
    """Raise, before any work, if Ray is not installed or nothing like it answers at the address.

    Ray itself would wait for minutes and then end the process without an exception. A server of gRPC, which Ray uses,
    answers the first bytes of HTTP/2 with its settings.
    """
    if find_spec("ray") is None:
        raise MissingExtra(INSTALL)
    if choice.address is None:
        return
    host, _, port = choice.address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
            connection.sendall(PREFACE)
            answer = connection.recv(len(SETTINGS))
        reason = "" if answer[3:4] == SETTINGS[3:4] else "another program listens there"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise RunError(
            f"no Ray cluster answers at {choice.address} ({reason}); check the address, or start one with: "
            "ray start --head"
        )


def chosen_engine(text: str, jobs: int = 1) -> EngineChoice:
    """The engine of a study by `--engine` and `--jobs`, which can be reached."""
    choice = study_engine(text, jobs)
    if choice.name == "ray":
        check_reachable(choice)
    return choice


def check_shared(path: Path) -> None:
    """RunError in a worker that does not see a file or folder of the command."""
    if not path.exists():
        raise RunError(f"{platform.node()} does not see {path}; the nodes of the cluster must share this folder")
