"""Service: the models, the queue and the state of one server, independent of HTTP."""

from __future__ import annotations

import asyncio
import hmac
import time
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from phasefit.control_characters import one_line
from phasefit.errors import PhasefitError
from phasefit.serve.batcher import Batcher
from phasefit.serve.explaining import explain, predictions_of
from phasefit.serve.hosts import host_name
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, Target
from phasefit.serve.metrics import Metrics
from phasefit.serve.wire.question import Question

Report = Callable[[str], None]
BODIES = 32  # of the largest size may arrive at once; many slow clients must not fill the memory


class Service:
    """Answers questions; can be drained and reloaded while it runs."""

    def __init__(
        self,
        models: Models,
        limits: Limits,
        *,
        token: str | None = None,
        hosts: frozenset[str] | None = None,
        explains: bool = True,
        report: Report = lambda _: None,
    ) -> None:
        self.models, self.limits, self.explains, self.report = models, limits, explains, report
        self.metrics = Metrics()
        self.batcher = Batcher(limits, self.metrics, report)
        self.draining = False
        self.running = 0  # requests that are not answered yet
        self._body_bytes = 0  # of bodies that have not arrived completely
        self._hosts = hosts  # None: any
        self._token = None if token is None else token.encode()
        self._reloading = asyncio.Lock()
        self._reload_waits = False

    def start(self) -> None:
        """Start computing."""
        self.batcher.start()

    def stop(self) -> None:
        """Stop computing."""
        self.batcher.stop()

    @property
    def is_ready(self) -> bool:
        """Whether new requests are accepted."""
        return not self.draining

    def deadline(self) -> float:
        """When a request that starts now has to be answered."""
        return time.monotonic() + self.limits.timeout

    def hold_body(self, size: int) -> None:
        """Charge a part of a body that is being received; Refusal if all of them together need too much memory."""
        if self._body_bytes + size > BODIES * self.limits.max_body:
            raise self.batcher.overloaded()
        self._body_bytes += size

    def release_body(self, size: int) -> None:
        """Return the charge of a body that has arrived or is given up."""
        self._body_bytes -= size

    async def ask(self, question: Question, deadline: float) -> Any:
        """The content of the answer."""
        result = await self.batcher.compute(question.target, question.texts, deadline, question.field)
        question.check_result(result)
        return question.answer(result)

    async def explain(self, target: Target, text: Any, deadline: float) -> Any:
        """The explanation of one text or pair."""
        at_once = max(1, self.limits.batch_tokens // self.batcher.cost(target, [text]))
        work = partial(explain, target, text, at_once)
        return await self.batcher.run(target, [text], work, predictions_of(text), deadline)

    def is_called(self, hosts: Iterable[bytes]) -> bool:
        """Whether a request with these Host headers is meant for this server; browsers always send one."""
        return self._hosts is None or all(host_name(host) in self._hosts for host in hosts)

    def permits(self, authorization: str | None) -> bool:
        """Whether a request with this header may be answered.

        The token is accepted as a bearer token and, for browsers, as the password of basic authentication.
        """
        if self._token is None:
            return True
        scheme, _, value = (authorization or "").partition(" ")
        given = value.strip().encode("latin-1", "replace")
        if scheme.lower() == "basic":
            try:
                given = b64decode(given, validate=True).partition(b":")[2]
            except Base64Error:
                given = b""
        elif scheme.lower() != "bearer":
            given = b""
        return hmac.compare_digest(given, self._token)

    async def reload(self) -> None:
        """Load all models again while the current ones answer; a model that cannot be loaded changes nothing."""
        if self._reload_waits or self.draining:  # one more reload after the current one reads every change
            return
        self._reload_waits = True
        async with self._reloading:
            self._reload_waits = False
            try:
                await asyncio.to_thread(self.models.reload)
            except (PhasefitError, OSError, MemoryError) as error:
                self.metrics.reloads.labels("failed").inc()
                reason = one_line(str(error) or type(error).__name__)
                self.report(f"the models were not reloaded, and the current ones stay in use: {reason}")
            except Exception as error:  # noqa: BLE001 - a broken model must not end the server
                self.metrics.reloads.labels("failed").inc()
                self.report(f"the models were not reloaded, and the current ones stay in use: {type(error).__name__}")
            else:
                self.metrics.reloads.labels("succeeded").inc()
                self.report(f"reloaded {', '.join(model.name for model in self.models.all)}")

    async def drain(self) -> None:
        """Refuse new requests and wait until the accepted ones are answered, at most `drain_seconds`."""
        self.draining = True
        end = time.monotonic() + self.limits.drain_seconds
        while self.running and time.monotonic() < end:
            await asyncio.sleep(0.02)
