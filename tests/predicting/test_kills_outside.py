"""Processes with an encoder that are killed from outside at any time: the output is that of an uninterrupted run.

Twenty kills, in four chains of five: each process resumes what the one before left, and is killed in turn.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from phasefit.data.io.frames import write_frame
from phasefit.data.labels import label_space
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.heads import Head
from phasefit.models.model import TASK, Model
from phasefit.runs.results import save_model
from sharded import content
from tiny import make_table

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")]

KILLS, SHARDS, SHARD_ROWS = 5, 60, 800
SECONDS = 600
Words = list[str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """A saved model with an encoder, and tables."""
    folder = tmp_path_factory.mktemp("outside")
    model = Model(load_encoder(str(tiny_folder)))
    model.heads[TASK] = Head("linear", model.encoder.dimension, 3).eval()
    model.spaces[TASK] = label_space(["a", "b", "c"])
    save_model(model, folder / "run")
    texts, _ = make_table(SHARDS * SHARD_ROWS - 5)
    for ending in ("csv", "jsonl.gz", "parquet"):
        write_frame(pd.DataFrame({"text": texts, "n": range(len(texts))}), folder / f"in.{ending}")
    return folder


def start(place: Path, words: Words, out: str) -> subprocess.Popen[str]:
    asked = [words[0], str(place / "run"), str(place / words[1]), "-o", f"{place}/{out}", *words[2:]]
    return subprocess.Popen(
        [sys.executable, "-m", "phasefit", *asked, "--shard-rows", str(SHARD_ROWS), "--quiet"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(place: Path, words: Words, out: str) -> None:
    process = start(place, words, out)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors


def children(parent: int) -> list[int]:
    """The workers of a process: its children that were spawned."""
    found = []
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(OSError):
            owner = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if owner == parent and b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.002)


def finished(folder: Path) -> int:
    return len([path for path in folder.glob("part-*") if ".skipped" not in path.name and path.suffix != ".tmp"])


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("folder/", ["predict", "in.csv", "--engine", "local:2"]),
        ("one.parquet", ["predict", "in.parquet", "--engine", "local:2"]),
        ("vectors/", ["embed", "in.csv", "--engine", "local:2", "--out-format", "npy"]),
        ("one.jsonl.gz", ["predict", "in.jsonl.gz", "--threads", "1"]),
    ],
    ids=["folder", "file", "embed", "gzip"],
)
def test_killed_from_outside(place: Path, out: str, words: Words) -> None:
    chance = np.random.default_rng(sum(out.encode()))
    shards = place / out if out.endswith("/") else place / f".{out}.phasefit"
    for kill in range(KILLS):
        process = start(place, words, out)
        before = finished(shards)
        more = int(chance.integers(1, 7))
        wait_until(lambda: process.poll() is not None or finished(shards) >= before + more, "no shard is finished")  # noqa: B023
        time.sleep(float(chance.uniform(0, 0.03)))
        workers = children(process.pid)
        victim = workers[0] if workers and kill % 2 else process.pid  # in turns the command and one of its workers
        os.kill(victim, signal.SIGKILL)
        _, errors = process.communicate(timeout=SECONDS)
        assert before < finished(shards) < SHARDS, "the kill must hit unfinished work"
        if victim == process.pid:
            assert process.returncode == -signal.SIGKILL, errors
        else:
            assert (process.returncode, "repeat the command to resume" in errors) == (2, True), errors
        wait_until(lambda: not any(map(is_running, workers)), "workers outlive the command")  # noqa: B023
    finish(place, words, out)
    whole = f"whole-{out}"
    alone = [word for word in words if word not in ("--engine", "local:2", "--threads", "1")]
    finish(place, [*alone, "--threads", "1"], whole)
    if out.endswith("/"):
        assert content(place / out) == content(place / whole)
        assert len(content(place / out)) == SHARDS + 1
    else:
        assert (place / out).read_bytes() == (place / whole).read_bytes()
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it has not ended without being waited for."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
