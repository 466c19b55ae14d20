"""The outermost layer: names, token, draining, security headers, counted responses, and no traceback for anyone."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from phasefit.serve.refusals import Refusal
from phasefit.serve.service import Service
from phasefit.serve.wire.fields import write_json

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/health"  # the only path that needs no token
OBSERVED = (HEALTH, "/ready", "/info", "/metrics", "/v1/models", "/openapi.json")  # answered while draining, too
FLAT_ERRORS = ("/predict", "/embed", "/explain", "/")
ENDPOINTS = (*OBSERVED, *FLAT_ERRORS, "/v1/classify", "/v1/embeddings")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]


class Guard:
    """Wraps an ASGI application."""

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        service, path, start = self._service, scope["path"], time.perf_counter()
        status = 0

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *HEADERS]
                if service.draining:
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        service.running += 1
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, receive, observed)
            else:
                await respond(observed, refusal, path)
        except Exception as error:  # noqa: BLE001 - a client never sees a traceback, and neither does the log see texts
            service.report(f"a bug in the server ended a request to {path[:100]!r}: {type(error).__name__}")
            if not status:
                await respond(observed, Refusal(500, "the server failed on this request; please report it"), path)
        finally:
            service.running -= 1
            endpoint = path if path in ENDPOINTS else "other"
            service.metrics.responses.labels(endpoint, str(status or 499)).inc()
            service.metrics.responding.observe(time.perf_counter() - start)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is refused before its body is read."""
        service, path = self._service, scope["path"]
        headers = dict(scope["headers"])
        if not service.is_called(value for name, value in scope["headers"] if name == b"host"):
            return Refusal(403, "the header Host does not name this server; the operator can add names (--allow-host)")
        if path != HEALTH and not service.permits(headers.get(b"authorization", b"").decode("latin-1")):
            return Refusal(401, "the token is missing or wrong; send the header 'Authorization: Bearer TOKEN'")
        if service.draining and path not in OBSERVED:
            return Refusal(503, "the server is shutting down; send the request to another one", retry_after=5)
        return None


async def respond(send: Send, refusal: Refusal, path: str) -> None:
    """Send a refusal in the format of the endpoint."""
    body = write_json(refusal.content(flat=path in FLAT_ERRORS))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += refusal_headers(refusal)
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def refusal_headers(refusal: Refusal) -> list[tuple[bytes, bytes]]:
    """The headers that a status requires."""
    if refusal.status == 401:
        return [(b"www-authenticate", b'Bearer realm="phasefit"'), (b"www-authenticate", b'Basic realm="phasefit"')]
    return [(b"retry-after", str(refusal.retry_after).encode())] if refusal.retry_after else []
