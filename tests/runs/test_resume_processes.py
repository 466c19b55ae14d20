"""Several processes train one run; whichever of them is killed or stopped, it can be resumed and ends the same.

Each is the whole command, forked from a process that has imported everything (see `killing.py`).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from groups import Group
from killing import Nursery
from tiny import make_table, read_json, write_csv

SHORT = ["contrast.max_steps=6", "contrast.evaluate_every=2", "finetune.max_steps=6", "finetune.evaluate_every=2"]
STOPPED, KILLED, BAD_INPUT = 128 + signal.SIGTERM, -signal.SIGKILL, 2


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def pair(nursery: Nursery, tmp_path: Path):
    def start(*words: str, count: int = 2, **signals: tuple[int, int]) -> Group:
        ranks = {int(name[-1]): wish for name, wish in signals.items()}
        return Group(nursery, tmp_path, *words, signals=ranks, count=count)

    return start


def checkpoints(run: Path) -> int:
    """The number of the newest checkpoint."""
    return max((int(path.name) for path in (run / "checkpoints").glob("*") if path.name.isdecimal()), default=0)


def assert_equal(run: Path, other: Path) -> None:
    """Both have the same weights, bit for bit."""
    for name in ("encoder/model.safetensors", "heads.safetensors"):
        one, two = load_file(run / name), load_file(other / name)
        assert one.keys() == two.keys()
        assert all(torch.equal(one[key], two[key]) for key in one), name


@pytest.mark.slow
def test_two_processes_are_killed_stopped_and_resumed(pair, tiny_folder: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "queries.csv", *make_table(80))
    wishes = [str(table), "-r", "contrast-finetune", "-m", str(tiny_folder), "--device", "cpu"]
    wishes += ["--checkpoint-minutes", "0", *(part for setting in SHORT for part in ("--set", setting))]
    whole, run = tmp_path / "whole", tmp_path / "run"
    resume = ("--resume", str(run))

    unbroken = pair(*wishes, "-o", str(whole))
    assert unbroken.wait() == [0, 0], unbroken.outputs

    killed = pair(*wishes, "-o", str(run), rank0=(signal.SIGKILL, 3))
    codes = killed.wait()
    assert codes[0] == KILLED, killed.outputs
    assert codes[1] == BAD_INPUT, "the other cannot continue, and does not wait for ever"
    advice = f"resume it with: phasefit train --resume {run} (on 2 processes)"
    assert killed.outputs[1] == f"phasefit: another process of this run has ended; {advice}\n"
    assert read_json(run / "phasefit.json")["status"] == "started"
    assert checkpoints(run) == 3

    # One hears it, and so late that the phase has no step left to agree in: both stop.
    stopped = pair(*resume, rank1=(signal.SIGTERM, 3))
    assert stopped.wait() == [STOPPED, STOPPED], stopped.outputs
    assert [output.splitlines()[-1] for output in stopped.outputs] == [f"phasefit: interrupted; {advice}"] * 2
    assert checkpoints(run) == 7, "six steps and the end of the phase"

    stopped = pair(*resume, rank0=(signal.SIGTERM, 1), rank1=(signal.SIGTERM, 1))
    assert stopped.wait() == [STOPPED, STOPPED], stopped.outputs
    assert checkpoints(run) == 9, "the started step is finished"

    # From outside it comes at any moment; too late is one of them.
    stopped, until = pair(*resume), time.monotonic() + 60
    while checkpoints(run) < 10 and (run / "checkpoints").exists() and time.monotonic() < until:
        time.sleep(0.01)
    for process in stopped.processes:
        os.kill(process, signal.SIGTERM)
    assert set(stopped.wait()) <= {STOPPED, -signal.SIGTERM, 0}, stopped.outputs

    resumed = pair(*resume)
    assert resumed.wait() == [0, 0], resumed.outputs
    assert read_json(run / "phasefit.json")["processes"] == 2
    assert_equal(run, whole)


@pytest.mark.slow
def test_three_processes_sum_in_the_same_order_after_resuming(pair, tiny_folder: Path, tmp_path: Path) -> None:
    """The sum of two numbers does not depend on their order; that of three does."""
    table = write_csv(tmp_path / "queries.csv", *make_table(80))
    wishes = [str(table), "-r", "finetune", "-m", str(tiny_folder), "--device", "cpu", "--checkpoint-minutes", "0"]
    wishes += ["--set", "finetune.max_steps=5", "--set", "finetune.patience=0"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    unbroken = pair(*wishes, "-o", str(whole), count=3)
    assert unbroken.wait() == [0, 0, 0], unbroken.outputs
    killed = pair(*wishes, "-o", str(run), count=3, rank2=(signal.SIGKILL, 3))
    assert killed.wait() == [BAD_INPUT, BAD_INPUT, KILLED], killed.outputs
    resumed = pair("--resume", str(run), count=3)
    assert resumed.wait() == [0, 0, 0], resumed.outputs
    assert_equal(run, whole)
