"""Processes wait for each other before they connect; the wait is reported, limited, and ends with a signal."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from phasefit.errors import RunError
from phasefit.events import Note
from phasefit.training import joining
from phasefit.training.joining import wait_for_processes


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def rank(number: int, count: int = 2) -> None:
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", str(port))
        monkeypatch.setenv("WORLD_SIZE", str(count))
        monkeypatch.setenv("RANK", str(number))

    return rank


def test_one_process_does_not_wait(launch, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(0, count=1)
    assert wait_for_processes(lambda _: None) is None
    monkeypatch.delenv("RANK")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert wait_for_processes(lambda _: None) is None


def test_all_processes_are_waited_for(launch, monkeypatch: pytest.MonkeyPatch) -> None:
    stores: list[Any] = []
    launch(0)
    entered = threading.Event()
    real = joining._Wait.pause

    def pause(self: Any, joined: int) -> None:
        entered.set()
        real(self, joined)

    monkeypatch.setattr(joining._Wait, "pause", pause)
    first = threading.Thread(target=lambda: stores.append(wait_for_processes(lambda _: None)))
    first.start()
    assert entered.wait(60)
    assert not stores
    launch(1)
    second = wait_for_processes(lambda _: None)
    first.join(60)
    assert second is not None
    assert len(stores) == 1


@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_never_comes(launch, monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    monkeypatch.setattr(joining, "PATIENCE", -1.0)
    monkeypatch.setattr(joining, "LIMIT", 0.2)
    heard: list[Any] = []
    launch(rank)
    with pytest.raises(RunError, match="only 1 of 2 processes have joined"):
        wait_for_processes(heard.append)
    assert heard == [Note("waiting for other processes: 1 of 2 have joined", warning=True)]
