"""Control-C reaches the command and all its processes: one sentence, no tracebacks, no temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sharded import save_small

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to a group")]

SHARDS, SECONDS = 500, 120.0


def _as_on_a_terminal() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it


@pytest.mark.parametrize("moment", ["start", "work"])
def test_control_c_with_several_processes(tmp_path: Path, moment: str) -> None:
    model = save_small(tmp_path / "run")
    (tmp_path / "in.csv").write_text("text\n" + "good day\n" * (50 * SHARDS))
    words = ["predict", str(model), "in.csv", "-o", "out/", "--shard-rows", "50", "--engine", "local:2", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "phasefit", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_as_on_a_terminal,
    )
    end = time.monotonic() + SECONDS
    while not (_has_worker(process.pid) if moment == "start" else any((tmp_path / "out").glob("part-*"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    parts = len(list((tmp_path / "out").glob("part-*")))
    left = f"{parts} of {SHARDS} shards are finished; repeat the command to resume"
    assert errors == f"phasefit: interrupted; {left if moment == 'work' else 'nothing was written'}\n"
    assert process.returncode == 130
    if moment == "work":
        assert 0 < parts < SHARDS
        assert len(list((tmp_path / "out").iterdir())) == parts + 1  # and the manifest


def _has_worker(group: int) -> bool:
    """Whether a spawned process of the group runs, which is still importing modules."""
    found = subprocess.run(["ps", "-A", "-ww", "-o", "pgid=,args="], capture_output=True, text=True, check=True).stdout
    return any(line.split()[0] == str(group) and "spawn_main" in line for line in found.splitlines())
