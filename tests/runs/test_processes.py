"""How one of several processes exits, with a fake torch."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from phasefit.errors import Interrupted, TrainingError
from phasefit.runs import processes
from phasefit.runs.processes import has_others, is_main_process, shutdown_process_group
from phasefit.runs.stop import Stop


class Ended(BaseException):
    """The system ended the process."""


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a process of a group did when it exited, in order."""
    did: list[Any] = []

    def end(code: int) -> None:
        did.append(code)
        raise Ended

    group = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        destroy_process_group=lambda: did.append("left"),
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: did.append("handlers"))
    monkeypatch.setattr(os, "_exit", end)
    return did


def test_processes_are_counted_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert is_main_process()
    assert not has_others()
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert not is_main_process()
    assert has_others()


@pytest.mark.parametrize(("code", "exit_code"), [(0, 0), (143, 143), (None, 0), ("words", 1)])
def test_a_group_is_left_and_the_code_stays(done: list[Any], code: Any, exit_code: int) -> None:
    with pytest.raises(Ended), shutdown_process_group():
        raise SystemExit(code)
    assert done == ["left", "handlers", exit_code]


def test_others_that_are_dead_do_not_change_the_code(done: list[Any]) -> None:
    def fail() -> None:
        raise RuntimeError("Connection closed by peer")

    sys.modules["torch.distributed"].destroy_process_group = fail
    with pytest.raises(Ended), shutdown_process_group():
        raise SystemExit(2)
    assert done == ["handlers", 2]


def test_others_that_hang_are_not_waited_for(done: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(processes, "TIMEOUT", 0.01)
    sys.modules["torch.distributed"].destroy_process_group = lambda: answered.wait(60)
    with pytest.raises(Ended), shutdown_process_group():
        raise SystemExit(143)
    answered.set()
    assert done == ["handlers", 143]


@pytest.mark.parametrize("loaded", [False, True])
def test_a_single_process_exits_normally(done: list[Any], monkeypatch, loaded: bool) -> None:
    if loaded:
        sys.modules["torch.distributed"].is_initialized = lambda: False
    else:
        monkeypatch.delitem(sys.modules, "torch.distributed")
    with pytest.raises(SystemExit) as caught, shutdown_process_group():
        raise SystemExit(3)
    assert caught.value.code == 3
    with shutdown_process_group():
        pass
    assert done == []


def fail_after_signal(error: Exception) -> None:
    """An error while a phase is trained, after the signal."""
    with Stop() as stop, stop.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        raise error


def test_another_process_that_stopped_first_is_not_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(Interrupted) as caught:
        fail_after_signal(RuntimeError("Connection closed by peer"))
    assert caught.value.signal == signal.SIGTERM
    with pytest.raises(TrainingError):
        fail_after_signal(TrainingError("the loss became nan"))
    with pytest.raises(RuntimeError, match="without a signal"), Stop() as stop, stop.deferred():
        raise RuntimeError("without a signal")


def test_alone_an_error_stays_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(RuntimeError, match="a bug"):
        fail_after_signal(RuntimeError("a bug"))
