"""The values of --engine, and what is refused before any work."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import types
from pathlib import Path

import pytest

from phasefit.engines import ray_cluster
from phasefit.engines.choice import EngineChoice, parse_engine, study_engine
from phasefit.errors import DataError, MissingExtra, RunError
from sharded import invoke, save_small


def test_engines() -> None:
    assert parse_engine("local") == EngineChoice("local", 1)
    assert parse_engine("local:4") == EngineChoice("local", 4)
    assert parse_engine("ray") == EngineChoice("ray")
    assert parse_engine("ray:head.example:6379").address == "head.example:6379"
    assert study_engine("local", 3) == EngineChoice("local", 3)
    assert study_engine("ray", 1) == EngineChoice("ray")


@pytest.mark.parametrize(
    "text", ["spark", "", "Local", "local:", "local:0", "local:-1", "local:257", "local:²", "ray "]
)
def test_wrong_engines(text: str) -> None:
    with pytest.raises(DataError, match="--engine"):
        parse_engine(text)


@pytest.mark.parametrize("address", ["head", ":6379", "head:", "head:0", "head:99999", "ray://head:1", "head:6379/x"])
def test_wrong_addresses(address: str) -> None:
    with pytest.raises(DataError, match="must be HOST:PORT"):
        parse_engine(f"ray:{address}")


def test_jobs_are_for_local_processes() -> None:
    with pytest.raises(DataError, match="--jobs 2 and --engine ray exclude each other"):
        study_engine("ray", 2)


def test_nobody_at_the_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(RunError, match=rf"no Ray cluster answers at {address} \(Connection refused\)"):
        ray_cluster.check_reachable(parse_engine(f"ray:{address}"))


def test_another_program_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "SECONDS", 0.2)
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(RunError, match=r"no Ray cluster answers at .* \(timed out\)"):
        ray_cluster.check_reachable(parse_engine(f"ray:127.0.0.1:{silent.getsockname()[1]}"))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("rai", "--engine rai is unknown; use local, local:N, ray or ray:HOST:PORT"),
        ("local:0", "the number of processes must be from 1 to 256"),
        ("ray:nowhere", "the address must be HOST:PORT"),
        ("ray:127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"),
    ],
)
def test_commands_refuse_them_in_one_sentence(tmp_path: Path, engine: str, message: str) -> None:
    (tmp_path / "in.csv").write_text("text,label\ngood,a\nbad,b\n", encoding="utf-8")
    model, data = save_small(tmp_path / "model"), tmp_path / "in.csv"
    for words in (
        ("predict", model, data, "-o", tmp_path / "out.csv"),
        ("compare", data, "-r", "majority", "-o", tmp_path / "study"),
        ("reproduce", "three-phase", "-o", tmp_path / "study"),
        ("search", data, "--study", tmp_path / "study"),
    ):
        result = invoke(*words, "--engine", engine)
        assert (result.exit_code, message in " ".join(result.output.split())) == (2, True), result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "model"]


@pytest.mark.parametrize(("engine", "given", "priority"), [
    ("ray", None, "0"), ("ray", "7", "7"), ("ray:127.0.0.1:6379", None, None),
])  # fmt: skip
def test_the_workers_of_an_own_cluster_have_the_priority_of_the_command(
    monkeypatch: pytest.MonkeyPatch, engine: str, given: str | None, priority: str | None
) -> None:
    monkeypatch.setattr(os, "environ", {} if given is None else {ray_cluster.PRIORITY: given})
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    ray_cluster.load_ray(parse_engine(engine))
    assert os.environ.get(ray_cluster.PRIORITY) == priority
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"--engine ray needs Ray; install it with: pip install 'phasefit\[ray\]'"):
        ray_cluster.check_reachable(parse_engine("ray"))


def test_other_threads_do_not_write_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.redirect_stdout(ray_cluster.OwnOutput(sys.stdout)):  # type: ignore[type-var]
        thread = threading.Thread(target=print, args=("(raylet) A worker died",))
        thread.start()
        thread.join()
        sys.stdout.write('{"rows": 3}\n')
        assert sys.stdout.isatty() is False
    assert capsys.readouterr().out == '{"rows": 3}\n'
