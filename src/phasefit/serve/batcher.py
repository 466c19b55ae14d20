"""The queue and the worker thread: requests wait, are tokenised together and computed in batches bounded by tokens.

A request is charged with the estimated tokens of its texts, whether they arrive in one request or in many. The charge
is held until the request is answered, so it bounds memory and waiting time.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from phasefit.errors import DataError, ModelError
from phasefit.serve.engines import Prepared, Texts
from phasefit.serve.limits import Limits, charge
from phasefit.serve.loading import Target
from phasefit.serve.metrics import Metrics
from phasefit.serve.refusals import Refusal, too_large

LONGEST_RETRY = 60  # seconds
LONGEST_WAIT = 0.5  # share of the time of a request that it may be expected to wait
FORGET = 0.8  # share of the old value in the moving average of the speed


Work: TypeAlias = Callable[[Callable[[], None]], Any]  # is given a function to call now and then; see `Batcher.run`


class Cancelled(Exception):  # noqa: N818 - named after what happened
    """No one waits for the result any more."""


@dataclass(frozen=True)
class Result:
    """The rows of one request, in the order of its texts."""

    rows: np.ndarray  # outputs of a head, or embeddings
    tokens: int
    cut: np.ndarray | None  # which texts were too long; None if unknown


@dataclass(eq=False)
class Job:
    """The texts of one request."""

    target: Target
    texts: Texts
    cost: int
    answer: asyncio.Future[Any]
    accepted: float
    work: Work | None = None  # instead of outputs or embeddings
    cancelled: bool = False
    released: bool = False  # whether its charge was returned

    @property
    def key(self) -> tuple[int, str | None]:
        """Jobs with the same key are computed together."""
        return (id(self.target.model), self.target.task) if self.work is None else (id(self), None)


class Batcher:
    """Accepts requests on the event loop; its worker thread computes them."""

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits, self._metrics, self._report, self._clock = limits, metrics, report, clock
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._held_tokens = self._held_texts = 0
        self._speed = 0.0  # charged tokens per second, a moving average
        self._worker: threading.Thread | None = None

    def start(self) -> None:
        """Start the worker."""
        self._stopping = False
        self._worker = threading.Thread(target=self._work, name="phasefit-worker", daemon=True)
        self._worker.start()

    def stop(self) -> None:
        """Stop the worker after the batch that it is computing."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._worker is not None:
            self._worker.join()

    @property
    def is_full(self) -> bool:
        """Whether every request would be refused."""
        return self._held_tokens >= self._limits.queue_tokens or self._would_wait_too_long()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is computed."""
        return self._held_tokens == 0

    def overloaded(self) -> Refusal:
        """429, with an estimate of when to retry."""
        seconds = self._held_tokens / self._speed if self._speed else 1.0
        retry = min(LONGEST_RETRY, max(1, math.ceil(seconds)))
        return Refusal(429, f"the server is overloaded; retry in {retry} s", code="overloaded", retry_after=retry)

    async def compute(self, target: Target, texts: Texts, deadline: float, field: str) -> Result:
        """Wait for the rows of these texts; Refusal if the queue is full or the deadline passes."""
        cost = self.cost(target, texts)
        if cost > self._limits.queue_tokens:
            raise too_large(
                f"{field}: the texts have about {cost} tokens, and the queue holds {self._limits.queue_tokens} "
                "(--queue-tokens); send fewer texts per request",
                field,
            )
        result: Result = await self._wait(self._job(target, texts, cost), deadline)
        return result

    async def run(self, target: Target, texts: Texts, work: Work, factor: int, deadline: float) -> Any:
        """Wait for other work on texts, which takes `factor` times as long as their outputs.

        It calls the function that it is given after each batch; predictions that wait are computed then.
        """
        cost = min(self._limits.queue_tokens, factor * self.cost(target, texts))
        return await self._wait(self._job(target, texts, cost, work), deadline)

    def cost(self, target: Target, texts: Texts) -> int:
        """What texts are charged with."""
        longest = target.model.engine.longest * (2 if target.reads_pairs else 1)
        return sum(charge(text, longest) for text in texts)

    def _job(self, target: Target, texts: Texts, cost: int, work: Work | None = None) -> Job:
        return Job(target, texts, cost, asyncio.get_running_loop().create_future(), self._clock(), work)

    async def _wait(self, job: Job, deadline: float) -> Any:
        with self._changed:
            if self.is_full or self._held_tokens + job.cost > self._limits.queue_tokens:
                raise self.overloaded()
            self._hold(job, 1)
            self._jobs.append(job)
            self._changed.notify()
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock())):
                return await job.answer
        except TimeoutError:
            raise Refusal(
                504, f"no answer within {self._limits.timeout:g} s (--timeout)", code="timeout", retry_after=1
            ) from None
        finally:
            if not job.answer.done() or job.answer.cancelled():
                self._discard(job)

    def _would_wait_too_long(self) -> bool:
        """Whether what is held takes a large part of the time of a request: refusing now is better than 504 later."""
        return bool(self._speed) and self._held_tokens / self._speed > LONGEST_WAIT * self._limits.timeout

    def _hold(self, job: Job, sign: int) -> None:
        """Charge a job, or release its charge; the caller has the lock."""
        self._held_tokens += sign * job.cost
        self._held_texts += sign * len(job.texts)
        self._metrics.queue_tokens.set(self._held_tokens)
        self._metrics.queue_texts.set(self._held_texts)

    def _release(self, jobs: Sequence[Job]) -> None:
        """Return charges, before the answers are sent: a client that waits for its answer is never refused by it."""
        with self._changed:
            for job in jobs:
                if not job.released:
                    job.released = True
                    self._hold(job, -1)

    def _discard(self, job: Job) -> None:
        """Remove a job that waits; one that is being computed is released by the worker."""
        with self._changed:
            job.cancelled = True
            with suppress(ValueError):
                self._jobs.remove(job)
                job.released = True
                self._hold(job, -1)

    # --- the worker ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._stopping:
                    self._changed.wait()
                if self._stopping:
                    return
                jobs = self._take(self._jobs[0])
            self._run(jobs)

    def _pause(self, job: Job) -> None:
        """Compute one batch of predictions that wait, in the middle of longer work; Cancelled to end that work."""
        with self._changed:
            if job.cancelled or self._stopping:
                raise Cancelled
            first = next((waiting for waiting in self._jobs if waiting.work is None), None)
            jobs = [] if first is None else self._take(first)
        if jobs:
            self._run(jobs)

    def _take(self, first: Job) -> list[Job]:
        """A job and those that can be computed with it, up to one batch; the caller has the lock."""
        taken: list[Job] = []
        cost = 0
        for job in self._jobs:
            if job.key == first.key and (not taken or cost + job.cost <= self._limits.batch_tokens):
                taken.append(job)
                cost += job.cost
            if cost >= self._limits.batch_tokens:
                break
        if len(taken) == len(self._jobs):
            self._jobs.clear()
        else:
            chosen = set(map(id, taken))
            self._jobs = deque(job for job in self._jobs if id(job) not in chosen)
        return taken

    def _run(self, jobs: list[Job]) -> None:
        """Compute jobs and answer them; a failure with several is repeated one by one, so that only one fails."""
        start = self._clock()
        for job in jobs:
            self._metrics.waiting.observe(start - job.accepted)
        try:
            self._compute(jobs)
        except BaseException as error:  # noqa: BLE001 - nothing may end the worker; panics of libraries are no Exception
            pending = [job for job in jobs if not job.answer.done()]
            if len(jobs) > 1:
                for job in pending:
                    self._run_alone(job)
            else:
                self._fail(jobs[0], error)
        finally:
            self._release(jobs)
            self._measure(jobs, self._clock() - start)

    def _measure(self, jobs: Sequence[Job], seconds: float) -> None:
        """Update the speed; small batches are slower per token and would make it look too low."""
        cost = sum(job.cost for job in jobs)
        if jobs[0].work is None and 2 * cost >= self._limits.batch_tokens:
            speed = cost / max(seconds, 1e-6)
            self._speed = speed if not self._speed else FORGET * self._speed + (1 - FORGET) * speed

    def _run_alone(self, job: Job) -> None:
        try:
            self._compute([job])
        except BaseException as error:  # noqa: BLE001 - see _run
            self._fail(job, error)

    def _compute(self, jobs: Sequence[Job]) -> None:
        """Tokenise all texts, then compute batch after batch; a job is answered after its last text."""
        target, work = jobs[0].target, jobs[0].work
        if work is not None:
            with suppress(Cancelled):
                self._pause(jobs[0])
                content, answer = work(partial(self._pause, jobs[0])), jobs[0].answer
                self._release(jobs)
                _on_loop(answer, lambda: _set(answer, content))
            return
        engine = target.model.engine
        texts: Any = [text for job in jobs for text in job.texts]
        start = self._clock()
        prepared = engine.prepare(texts, target.task)
        if engine.counts_tokens:
            self._metrics.tokenising.observe(self._clock() - start)
        ends = np.cumsum([len(job.texts) for job in jobs])
        rows: list[np.ndarray] = []
        done = answered = 0
        for places in batches(prepared.tokens, self._limits.batch_tokens):
            if all(job.cancelled for job in jobs[answered:]):
                return
            start = self._clock()
            rows.append(prepared.compute(places))
            self._metrics.computing.observe(self._clock() - start)
            self._metrics.batch_texts.observe(len(places))
            self._metrics.batch_tokens.observe(tokens := int(prepared.tokens[places].sum()))
            self._metrics.texts.labels(target.model.name).inc(len(places))
            self._metrics.tokens.labels(target.model.name).inc(tokens)
            done += len(places)
            finished = int(np.searchsorted(ends, done, side="right"))
            if finished > answered:
                rows = [np.concatenate(rows)] if len(rows) > 1 else rows
                self._answer(jobs[answered:finished], prepared, ends, answered, rows[0], done)
                rows = [rows[0][len(rows[0]) - (done - int(ends[finished - 1])) :]]
                answered = finished

    def _answer(
        self, jobs: Sequence[Job], prepared: Prepared, ends: np.ndarray, first: int, rows: np.ndarray, done: int
    ) -> None:
        """Answer finished jobs; `rows` end at text `done`, and `first` is the position of the first job in `ends`."""
        results = []
        for number, job in enumerate(jobs, start=first):
            stop = int(ends[number])
            begin = stop - len(job.texts)
            offset = len(rows) - done
            cut = None if prepared.cut is None else prepared.cut[begin:stop]
            own = rows[begin + offset : stop + offset]
            results.append((job.answer, Result(own, int(prepared.tokens[begin:stop].sum()), cut)))
        self._release(jobs)
        _on_loop(jobs[0].answer, lambda: _set_all(results))

    def _fail(self, job: Job, error: BaseException) -> None:
        refusal = _refusal_of(error)
        if refusal.status >= 500:  # the message may quote a text, so only its type is reported
            self._report(f"model '{job.target.name}' failed on a request: {type(error).__name__}")
        self._release([job])
        _on_loop(job.answer, lambda: None if job.answer.done() else job.answer.set_exception(refusal))


def batches(tokens: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Positions in order, with at most `most` tokens at a time, and at least one text."""
    start = total = 0
    for place, size in enumerate(tokens.tolist()):
        if place > start and total + size > most:
            yield np.arange(start, place)
            start, total = place, 0
        total += size
    yield np.arange(start, len(tokens))


def _set(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():  # the request may have timed out
        answer.set_result(result)


def _set_all(results: Sequence[tuple[asyncio.Future[Any], Result]]) -> None:
    for answer, result in results:
        _set(answer, result)


def _on_loop(answer: asyncio.Future[Any], do: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the loop is closed: no one waits
        answer.get_loop().call_soon_threadsafe(do)


def _refusal_of(error: BaseException) -> Refusal:
    """What a failed request is answered with."""
    if isinstance(error, DataError | ModelError):  # these name the text by number
        return Refusal(422, f"the model cannot read a text: {error}")
    if isinstance(error, MemoryError):
        return Refusal(503, "there is not enough memory for this request; send fewer or shorter texts", retry_after=5)
    return Refusal(500, "the model failed on this request; the log of the server names the kind of error")
