"""Engines run shards: in this process or in several on this machine; `ray_engine` has one for a cluster.

Every shard is written by whoever runs it, and counts as done once its file exists, so that an engine may lose a worker
at any time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Protocol

from phasefit.engines.parent import end_with_parent
from phasefit.errors import RunError
from phasefit.predicting.shards import Shard
from phasefit.predicting.worker import Job, ShardResult, Worker

if TYPE_CHECKING:
    from phasefit.models.predictor import Predictor


class Engine(Protocol):
    """Runs the shards of a job."""

    def check(self, job: Job) -> None:
        """Raise an error, before anything is written, if the job cannot be done."""
        ...

    def run(self, job: Job, shards: Sequence[Shard], progress: Callable[[int], None]) -> Iterator[ShardResult]:
        """Run shards and yield each result once its output is written; `progress` is called with rows done."""
        ...


class ThisProcess:
    """One shard after the other, with a model that is loaded already or by the first check."""

    def __init__(self, load: Callable[[], Predictor]) -> None:
        self._load = load
        self._model: Predictor | None = None

    def check(self, job: Job) -> None:
        """Load the model and check the columns."""
        self._model = self._load() if self._model is None else self._model
        Worker(job, self._model)

    def run(self, job: Job, shards: Sequence[Shard], progress: Callable[[int], None]) -> Iterator[ShardResult]:
        """Run shards in order."""
        with closing(Worker(job, self._model)) as worker:
            for shard in shards:
                yield worker.execute(shard, progress)


class Processes:
    """Several processes on this machine, each with one thread and its own model."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None

    def check(self, job: Job) -> None:
        """Load the model in the first process and check the columns there: it is not needed in this one."""
        self._pool = ProcessPoolExecutor(
            self.count, mp_context=get_context("spawn"), initializer=_start, initargs=(job,)
        )
        try:
            with _deaths_reported():
                with _interrupts_held():
                    loaded = self._pool.submit(_check)
                loaded.result()
        except BaseException:
            self._pool.shutdown(wait=True, cancel_futures=True)
            raise

    def run(self, job: Job, shards: Sequence[Shard], progress: Callable[[int], None]) -> Iterator[ShardResult]:
        """Run shards in any order."""
        assert self._pool is not None, "checked before"
        try:
            with _deaths_reported():
                with _interrupts_held():
                    futures = [self._pool.submit(_execute, shard) for shard in shards]
                for future in as_completed(futures):
                    result = future.result()
                    progress(result.rows + result.skipped)
                    yield result
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaths_reported() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool:
        raise RunError(
            "a process was killed, perhaps for using too much memory; finished shards are kept, so repeat the command "
            "to resume, with fewer processes if memory is short"
        ) from None


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Control-C back while processes are started, in them until `_start`: they would print tracebacks."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_job: Job | None = None
_worker: Worker | None = None


def _start(job: Job) -> None:
    """Note the job of a new process; an error here would only break the pool."""
    global _job
    _job = job
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))  # the command reports it
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    end_with_parent()  # otherwise it would wait for shards forever, with the model in memory


def _ready() -> Worker:
    global _worker
    assert _job is not None
    if _worker is None:
        _worker = Worker(_job)
    return _worker


def _check() -> None:
    _ready()


def _execute(shard: Shard) -> ShardResult:
    return _ready().execute(shard)
