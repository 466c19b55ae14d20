"""Two processes train one run; killed and resumed they leave what they would have left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tiny import make_table, read_json, write_csv

SHORT = ["contrast.max_steps=6", "contrast.evaluate_every=2", "finetune.max_steps=6", "finetune.evaluate_every=2"]


def start(*arguments: str) -> list[subprocess.Popen[str]]:
    """`phasefit train` as both ranks of two."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(
            [sys.executable, "-m", "phasefit", "train", "--quiet", *arguments],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), "ACCELERATE_USE_CPU": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]


def finish(processes: list[subprocess.Popen[str]]) -> list[int]:
    try:
        said = [process.communicate(timeout=200)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    codes = [process.returncode for process in processes]
    assert codes == [0, 0] or min(codes) < 0 or max(codes) > 2, "\n".join(said)
    return codes


def checkpoints(run: Path) -> int:
    """The number of the newest checkpoint."""
    return max((int(path.name) for path in (run / "checkpoints").glob("*") if path.name.isdecimal()), default=0)


def stop(processes: list[subprocess.Popen[str]], run: Path, number: signal.Signals, *, at: int) -> list[int]:
    """Send a signal to both once a checkpoint of that number is there; their exit codes."""
    until = time.monotonic() + 120
    while checkpoints(run) < at and time.monotonic() < until:
        time.sleep(0.01)
    for process in processes:
        process.send_signal(number)
    return finish(processes)


@pytest.mark.slow
def test_two_processes_are_killed_stopped_and_resumed(tiny_folder: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "queries.csv", *make_table(80))
    wishes = [str(table), "-r", "contrast-finetune", "-m", str(tiny_folder), "--device", "cpu"]
    wishes += ["--checkpoint-minutes", "0", *(part for setting in SHORT for part in ("--set", setting))]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert finish(start(*wishes, "-o", str(whole))) == [0, 0]
    assert stop(start(*wishes, "-o", str(run)), run, signal.SIGKILL, at=3) == [-9, -9]
    assert read_json(run / "phasefit.json")["status"] == "started"
    assert stop(start("--resume", str(run)), run, signal.SIGTERM, at=9) == [143, 143]
    assert finish(start("--resume", str(run))) == [0, 0]
    for name in ("encoder/model.safetensors", "heads.safetensors"):
        one, other = load_file(run / name), load_file(whole / name)
        assert all(torch.equal(one[key], other[key]) for key in one), name
