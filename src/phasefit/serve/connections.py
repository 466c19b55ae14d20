"""The protocol of a connection: a limited number of them, and a limited time until a request has arrived.

uvicorn closes connections that are idle after an answer. It waits forever for the first request and for the rest of
unfinished headers, so a client that sends nothing could occupy every file descriptor.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from phasefit.serve.wire.fields import write_json

HEADERS = 20.0  # seconds until the headers of a request have arrived
SENTENCE = "the server has too many connections (--max-connections); retry in 1 s"


class LimitedProtocol(H11Protocol):
    """One connection."""

    most = 1024  # connections at a time
    seconds = HEADERS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or refuse it if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.write(too_many_connections())
            transport.close()
        else:
            self._start()

    def data_received(self, data: bytes) -> None:
        """Read data; the time runs while the headers of a request are incomplete."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self.timeout_keep_alive_task is None:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


def limited_protocol(most: int) -> type[LimitedProtocol]:
    """The protocol of a server with this many connections; uvicorn is given a class and makes its objects."""
    return type("LimitedProtocol", (LimitedProtocol,), {"most": most})


def too_many_connections() -> bytes:
    """A complete response, because no request was read yet."""
    error = {"message": SENTENCE, "type": "server_error", "param": None, "code": 503}
    body = write_json({"error": error})
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
