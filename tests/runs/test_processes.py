"""How one of several processes exits, with a fake torch."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from phasefit.errors import Interrupted, LostProcess, PhasefitError, TrainingError
from phasefit.events import Note
from phasefit.runs import processes
from phasefit.runs.cleanup import advise_on_failure
from phasefit.runs.execution import _report_processes
from phasefit.runs.processes import (
    RANKS,
    SIZES,
    check_processes,
    has_others,
    is_lost_process,
    is_main_process,
    shutdown_process_group,
)
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


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch):
    """Set the environment to that of a launcher, without any other."""

    def launch(**variables: str) -> None:
        for name in (*RANKS, *SIZES, "ACCELERATE_MIXED_PRECISION", "MASTER_ADDR", "MASTER_PORT"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    launch()
    return launch


@pytest.mark.parametrize("launcher", [("RANK", "WORLD_SIZE"), *zip(RANKS[1:], SIZES[1:], strict=True)])
def test_processes_are_counted_from_the_environment(launched, launcher: tuple[str, str]) -> None:
    assert is_main_process()
    assert not has_others()
    rank, size = launcher
    launched(**{rank: "1", size: "2"})
    assert not is_main_process()
    assert has_others()


def test_processes_that_did_not_join_are_refused(launched) -> None:
    assert check_processes(1) is None
    launched(RANK="0", WORLD_SIZE="4")
    assert check_processes(4) is None
    with pytest.raises(PhasefitError, match="started 4 processes, but 1 joined; start them with torchrun"):
        check_processes(1)


def test_accelerate_launch_that_starts_one_process_is_reported(launched) -> None:
    launched(ACCELERATE_MIXED_PRECISION="no", ACCELERATE_USE_CPU="True")
    assert check_processes(1) is None, "nobody asked for more"
    launched(ACCELERATE_MIXED_PRECISION="no", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    assert "asked for several processes but started one" in str(check_processes(1))


@pytest.mark.parametrize(
    ("before", "now", "notes"),
    [
        (None, 1, []),
        (1, 1, []),
        (None, 2, ["training on 2 processes"]),
        (2, 1, ["the number of processes was 2 at the last checkpoint and is 1 now: results may differ slightly"]),
        (
            4,
            2,
            [
                "training on 2 processes",
                "the number of processes was 4 at the last checkpoint and is 2 now: results may differ slightly",
            ],
        ),
    ],
)
def test_the_number_of_processes_is_reported(launched, before: int | None, now: int, notes: list[str]) -> None:
    launched(**({"RANK": "0", "WORLD_SIZE": str(now)} if now > 1 else {}))
    heard: list[Note] = []
    accelerator: Any = SimpleNamespace(num_processes=now)
    assert _report_processes(accelerator, {} if before is None else {"processes": before}, heard.append) == now
    assert [note.text for note in heard] == notes
    assert [note.warning for note in heard] == ["differ" in text for text in notes]


GLOO = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:1: Connection reset by peer"


def test_an_error_of_the_exchange_is_a_lost_process(launched) -> None:
    import torch.distributed

    hidden = ValueError("while closing")
    hidden.__context__ = RuntimeError(GLOO)
    errors = [RuntimeError(GLOO), RuntimeError("Connection closed by peer [::1]:2"), hidden]
    errors.append(torch.distributed.DistBackendError("NCCL error"))
    assert not any(is_lost_process(error) for error in errors), "there are no others"
    launched(RANK="0", WORLD_SIZE="2")
    assert all(is_lost_process(error) for error in errors)
    assert not is_lost_process(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_lost_process(TrainingError("the loss became nan"))


def test_a_process_that_writes_nothing_reports_what_is_left(launched, tmp_path) -> None:
    launched(RANK="1", WORLD_SIZE="2")
    for error, kind in ((LostProcess("another has ended"), LostProcess), (Interrupted(signal=15), Interrupted)):
        with pytest.raises(kind, match="the first process reports what is left"), advise_on_failure(lambda: tmp_path):
            raise error
    manifest = '{"format": 1, "status": "started", "resume": {"request": {}}}'
    (tmp_path / "phasefit.json").write_text(manifest, encoding="utf-8")
    advice = r"ended; resume it with: .* \(on 2 processes\)"
    with pytest.raises(LostProcess, match=advice), advise_on_failure(lambda: tmp_path):
        raise LostProcess("another has ended")


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


def test_a_signal_whose_exception_was_lost_stops_the_run_later() -> None:
    with Stop() as stop:
        stop.check()
        with suppress(Interrupted):  # as some libraries do while they are imported
            os.kill(os.getpid(), signal.SIGTERM)
        for late in (stop.check, stop.deferred().__enter__):
            with pytest.raises(Interrupted) as caught:
                late()
            assert caught.value.signal == signal.SIGTERM
