"""Running the application; the only file that imports uvicorn. SIGTERM drains, SIGHUP reloads."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn

from phasefit.errors import PhasefitError
from phasefit.serve.app import make_app
from phasefit.serve.connections import limited_protocol
from phasefit.serve.service import Report, Service

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SWITCH_INTERVAL = 0.0005  # seconds; a busy event loop must not keep the worker waiting between its steps
KEEP_ALIVE = 75  # seconds; longer than proxies keep connections, so that they never use one that is being closed
STOPPED_BY = {signal.SIGTERM: "SIGTERM", signal.SIGINT: "Control-C"}


@dataclass(frozen=True)
class Address:
    """Where the server listens."""

    host: str = "127.0.0.1"
    port: int = 8000

    def bind(self) -> socket.socket:
        """The socket, bound before models are loaded, so that a port in use is reported at once."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
        except (OSError, UnicodeError) as error:
            listener.close()
            reason = getattr(error, "strerror", None) or error
            raise PhasefitError(
                f"cannot listen on {self.host} port {self.port} ({reason}); choose another --host or --port"
            ) from None
        return listener

    @property
    def is_open(self) -> bool:
        """Whether other machines can connect."""
        return self.host not in LOOPBACK and not self.host.startswith("127.")


class Server(uvicorn.Server):
    """uvicorn with our signals: the first SIGTERM or Control-C drains, the second ends at once."""

    def __init__(self, config: uvicorn.Config, service: Service, report: Report) -> None:
        super().__init__(config)
        self._service, self._report = service, report
        self._tasks: set[asyncio.Task[None]] = set()  # the loop holds only weak references

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving; the previous handlers are restored afterwards."""
        if threading.current_thread() is not threading.main_thread():  # which alone receives signals
            yield
            return
        loop = asyncio.get_running_loop()
        previous = {one: signal.signal(one, self.handle_exit) for one in STOPPED_BY}
        hang_up = getattr(signal, "SIGHUP", None)  # missing on Windows
        if hang_up is not None:
            loop.add_signal_handler(hang_up, self._reload)
        try:
            yield
        finally:
            if hang_up is not None:
                loop.remove_signal_handler(hang_up)
            for one, handler in previous.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain, or end at once if that has started already."""
        if self._service.draining:
            self.should_exit = self.force_exit = True
            return
        self._service.draining = True
        asyncio.get_running_loop().call_soon_threadsafe(self._start_draining, sig)

    def _start_draining(self, sig: int) -> None:
        self._report(f"{STOPPED_BY[signal.Signals(sig)]}: answering {self._service.running} accepted requests")
        self._keep(self._drain())

    async def _drain(self) -> None:
        await self._service.drain()
        if self._service.running:
            self._report(f"{self._service.running} requests were not answered in time (--drain-seconds)")
        self.should_exit = True

    def _reload(self) -> None:
        self._report("SIGHUP: loading the models again")
        self._keep(self._service.reload())

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def make_server(service: Service, report: Report = lambda _: None) -> Server:
    """The server of a service; it logs nothing itself."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # its messages may contain parts of requests
    config = uvicorn.Config(
        make_app(service),
        http=limited_protocol(service.limits.max_connections),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=5,
        ws="none",
    )
    return Server(config, service, report)


def run_server(service: Service, listener: socket.socket, report: Report) -> None:
    """Serve until a signal ends it."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    server = make_server(service, report)
    service.start()
    try:
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    finally:
        service.stop()
        listener.close()
