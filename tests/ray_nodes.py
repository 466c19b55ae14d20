"""A Ray cluster of two nodes on this machine, each with one core, and ways to lose a part of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from phasefit.engines.choice import EngineChoice
from phasefit.engines.ray_cluster import load_ray

NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}


class TwoNodes:
    """Starts both nodes; `engine` is the value of --engine."""

    def __init__(self) -> None:
        load_ray(EngineChoice("ray"))  # sets Ray's variables before anything imports it
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        self._second = self._cluster.add_node(**NODE)
        self.engine = f"ray:{self._cluster.address}"

    def workers(self, name: str, *, second: bool = False) -> list[int]:
        """The processes that run a task or an actor's method, of all nodes or of the second."""
        nodes = [self._second] if second else [self._cluster.head_node, self._second]
        raylets = {node.all_processes["raylet"][0].process.pid for node in nodes}
        return [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _is_child(pid, raylets, name)]

    def lose_worker(self, name: str) -> bool:
        """Kill one process that runs it; whether there was one."""
        for pid in self.workers(name)[:1]:
            os.kill(pid, signal.SIGKILL)
            return True
        return False

    def lose_node(self, name: str) -> bool:
        """Kill the second node if a process on it runs it; whether there was one.

        Until there is one, the first node is stopped, so that it does not finish all work alone.
        """
        others = set(self.workers(name)) - set(self.workers(name, second=True))
        started = bool(self.workers(name, second=True))
        if started:
            self._cluster.remove_node(self._second, allow_graceful=False)
        for pid in others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT if started else signal.SIGSTOP)
        return started

    def add_node(self) -> None:
        """Replace a lost node."""
        self._second = self._cluster.add_node(**NODE)

    def close(self) -> None:
        """End all processes of the cluster."""
        self._cluster.shutdown()


def _is_child(pid: int, parents: set[int], name: str) -> bool:
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return parent in parents and f"ray::{name}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def during(action: Callable[[], Any], lose: Callable[[], bool]) -> Any:
    """Run an action; meanwhile try to lose something until that succeeds once. AssertionError if it never does."""
    lost, over = threading.Event(), threading.Event()

    def attempt() -> None:
        while not over.is_set() and not lost.is_set():
            if lose():
                lost.set()
            time.sleep(0.01)

    thread = threading.Thread(target=attempt)
    thread.start()
    try:
        result = action()
    finally:
        over.set()
        thread.join()
    assert lost.is_set(), "nothing was lost while the work was unfinished"
    return result
