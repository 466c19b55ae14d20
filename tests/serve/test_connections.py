"""The names and the connections of a server."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

from phasefit.errors import PhasefitError
from phasefit.serve.connections import LimitedProtocol
from phasefit.serve.hosts import allowed_hosts
from phasefit.serve.limits import Limits
from served import FakeModel, client_of, made_service, running

NAMES = allowed_hosts("127.0.0.2", ["Models.example"])


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("LOCALHOST.:8000", True),
        ("127.0.0.1:8000", True),
        ("127.0.0.2", True),
        ("[::1]:8000", True),
        ("models.example", True),
        ("evil.example", False),
        ("evil.example:8000", False),
        ("localhost.evil.example", False),
        ("localhost:8000@evil.example", False),
        ("", False),
        ("[::1", False),
        ("localhost:port", False),
    ],
)
def test_a_page_cannot_reach_the_server_by_its_own_name(host: str, allowed: bool) -> None:
    service = made_service({"fake": FakeModel()}, hosts=NAMES)

    async def run() -> list[httpx.Response]:
        async with client_of(service) as client:
            headers = {"Host": host}
            return [
                await client.get("/info", headers=headers),
                await client.post("/v1/classify", json={"input": "a"}, headers=headers),
            ]

    for response in asyncio.run(run()):
        assert response.status_code == (200 if allowed else 403)
        if not allowed:
            assert "--allow-host" in response.json()["error"]["message"]


def test_every_name_in_a_request_is_checked() -> None:
    service = made_service({"fake": FakeModel()}, hosts=NAMES)
    assert service.is_called([])  # HTTP/1.0; no browser
    assert service.is_called([b"localhost"])
    assert not service.is_called([b"evil.example", b"localhost"])
    assert made_service({"fake": FakeModel()}).is_called([b"evil.example"])


@pytest.mark.parametrize("name", ["", "http://a", "a:80", "a b", "*"])
def test_unusable_names_are_refused(name: str) -> None:
    with pytest.raises(PhasefitError, match="is not the name of a host"):
        allowed_hosts("127.0.0.1", [name])


def connection(url: str) -> socket.socket:
    address = httpx.URL(url)
    return socket.create_connection((address.host, address.port), timeout=10)


def test_too_many_connections_are_refused() -> None:
    service = made_service({"fake": FakeModel()}, Limits(max_connections=2))
    with running(service) as url:
        with connection(url) as first, connection(url) as second:
            for one in (first, second):
                one.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
                assert one.recv(12) == b"HTTP/1.1 200"
            refused = httpx.get(f"{url}/health")
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "--max-connections" in refused.json()["error"]["message"]
        assert httpx.get(f"{url}/health").status_code == 200


@pytest.mark.parametrize("sent", [b"", b"GET /health HTT"])
def test_connections_without_a_request_are_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "seconds", 0.05)
    with running(made_service({"fake": FakeModel()})) as url, connection(url) as one:
        one.sendall(sent)
        assert one.recv(1) == b""
    with running(made_service({"fake": FakeModel()})) as url, connection(url) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert one.recv(4096).startswith(b"HTTP/1.1 200")
        one.sendall(sent or b"G")
        while one.recv(4096):
            pass  # until it is closed


def test_a_request_that_takes_longer_than_its_headers_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "seconds", 0.05)
    body = b'{"input": "a"}'
    with running(made_service({"fake": FakeModel()})) as url, connection(url) as one:
        head = f"POST /v1/classify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        one.sendall(f"{head}\r\n\r\n".encode())
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(1)
        one.settimeout(10)
        one.sendall(body)
        assert one.recv(12) == b"HTTP/1.1 200"
