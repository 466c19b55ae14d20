"""Shards on a Ray cluster: actors load the model once and take shards until none is left.

A shard whose actor or node is lost goes to another actor. Only actors that have loaded the model get shards, so that no
shard waits for a node that never comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from phasefit.engines.ray_cluster import Cluster, LostWorker, Machine, check_shared
from phasefit.errors import RunError
from phasefit.predicting.shards import MANIFEST, Shard
from phasefit.predicting.worker import Job, ShardResult, Worker

TRIES = 3  # of a shard, and of actors in a row that are lost before they have loaded the model


class ShardActor:
    """A worker in a process of the cluster."""

    def __init__(self, job: Job, machine: Machine) -> None:
        self._job, self._machine = job, machine
        self._worker: Worker | None = None

    def load(self) -> None:
        """Load the model and check the columns; not in the constructor, whose errors would only end the actor."""
        self._machine.enter()
        self._worker = Worker(self._job)

    def execute(self, shard: Shard) -> ShardResult:
        """Run a shard."""
        assert self._worker is not None, "loaded before"
        check_shared(self._job.folder / MANIFEST)
        return self._worker.execute(shard)


class RayActors:
    """Actors of a cluster, as many as it has room for."""

    def __init__(self, cluster: Cluster, threads: int) -> None:
        self._cluster, self._threads = cluster, threads
        self._actors: list[Any] = []
        self._calls: dict[Any, tuple[Any, Shard | None]] = {}  # by reference: the actor, and the shard unless it loads
        self._lost_loading = 0

    def check(self, job: Job) -> None:
        """Load the model in the first actor and check the columns there."""
        self._cluster.check(self._threads)
        self._add_actor(job)
        (reference,) = self._calls
        while True:
            try:
                self._cluster.result(reference)
                return
            except LostWorker as lost:
                self._forget(reference, lost)
                self._add_actor(job)
                (reference,) = self._calls

    def run(self, job: Job, shards: Sequence[Shard], progress: Callable[[int], None]) -> Iterator[ShardResult]:
        """Run shards in any order."""
        waiting, lost = list(reversed(shards)), Counter[str]()
        try:
            while waiting or any(shard is not None for _, shard in self._calls.values()):
                needed = min(self._cluster.slots(self._threads), len(waiting))
                while len(self._actors) < max(needed, 1):
                    self._add_actor(job)
                for reference in self._cluster.wait(list(self._calls)):
                    actor, shard = self._calls[reference]
                    try:
                        result = self._cluster.result(reference)
                    except LostWorker as error:
                        self._forget(reference, error)
                        if shard is not None:
                            lost[shard.name] += 1
                            if lost[shard.name] >= TRIES:
                                raise _gave_up(f"{TRIES} workers were lost at {shard.name}", error) from None
                            waiting.append(shard)
                        continue
                    del self._calls[reference]
                    self._lost_loading = 0
                    if waiting:
                        following = waiting.pop()
                        self._calls[actor.execute.remote(following)] = (actor, following)
                    if shard is not None:
                        progress(result.rows + result.skipped)
                        yield result
                self._reuse_idle(waiting)
        finally:
            for actor in self._actors:
                self._cluster.end_actor(actor)
            self._actors, self._calls = [], {}

    def _reuse_idle(self, waiting: list[Shard]) -> None:
        """Give shards that came back to actors that had nothing left to do."""
        if not waiting or len(self._calls) == len(self._actors):  # an actor has at most one call
            return
        busy = [actor for actor, _ in self._calls.values()]
        for actor in [actor for actor in self._actors if actor not in busy][: len(waiting)]:
            shard = waiting.pop()
            self._calls[actor.execute.remote(shard)] = (actor, shard)

    def _add_actor(self, job: Job) -> None:
        actor = self._cluster.start_actor(ShardActor, self._threads, job, Machine.here())
        self._actors.append(actor)
        self._calls[actor.load.remote()] = (actor, None)

    def _forget(self, reference: Any, error: LostWorker) -> None:
        actor, shard = self._calls.pop(reference)
        self._actors.remove(actor)
        if shard is None:
            self._lost_loading += 1
            if self._lost_loading >= TRIES:
                raise _gave_up(f"{TRIES} workers in a row were lost while they loaded the model", error)


def _gave_up(what: str, error: LostWorker) -> RunError:
    return RunError(
        f"{what}, perhaps for using too much memory ({error}); finished shards are kept, so repeat the command to "
        "resume"
    )
