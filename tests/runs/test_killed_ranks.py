"""Two and four processes, started by real launchers; each of them is killed, at several places and steps.

All processes must end within seconds, with one sentence each, and the run is resumed until the next one is killed. In
the end it must equal a run that nobody killed, whoever launched that.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tiny import make_table, read_json, write_csv

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

BIN = Path(sys.executable).parent
TESTS = Path(__file__).parents[1]
LIMIT = 25.0  # seconds; launchers kill after 30 whatever has not ended
STEPS = 10
SENTENCES = (
    r"another process of this run has ended; {advice}",
    r"interrupted; {advice}",  # the launcher, too, stops the others
    r"interrupted; nothing was written",  # before the run has begun
    r"(another process of this run has ended|interrupted); the first process reports what is left of the run",
)

Kill = tuple[int, str, int]  # rank, place (see killed_rank.py), how many times it is reached
KILLS: dict[int, list[Kill]] = {
    2: [
        *((rank, place, count) for place, count in (("join", 1), ("gradient", 3)) for rank in range(2)),
        *((rank, place, count) for place, count in (("evaluation", 1), ("step", 2)) for rank in range(2)),
        *((1, "phase", 1), (0, "gradient", 2), (0, "phase", 1), (1, "score", 1), (0, "score", 1), (0, "end", 1)),
    ],
    4: [
        *((rank, "gradient", 2) for rank in range(4)),
        *((rank, "step", 2) for rank in range(4)),
        *((2, "evaluation", 1), (3, "phase", 1)),
    ],
}


def words_of(launcher: str, count: int) -> list[str]:
    """The command line of a launcher, up to the words for `phasefit`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    if launcher == "torchrun":
        return [str(BIN / "torchrun"), "--nproc_per_node", str(count), "--master_port", port, "-m", "killed_rank"]
    several = ["--multi_gpu", "--num_processes", str(count), "--main_process_port", port]
    return [str(BIN / "accelerate"), "launch", *several, "-m", "killed_rank"]


class Launched:
    """A launch that has ended."""

    def __init__(self, words: list[str], folder: Path, kill: Kill | None = None) -> None:
        killed = folder / "killed"
        killed.unlink(missing_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "KILLED": str(killed)}
        environment["PYTHONPATH"] = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
        environment |= {} if kill is None else {"KILL": ":".join(map(str, kill))}
        launcher = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            self.output = launcher.communicate(timeout=300)[0]
        finally:
            launcher.terminate()  # a launcher that is killed does not end its processes
            self.code = launcher.wait(60)
        self.seconds = time.time() - float(killed.read_text(encoding="utf-8")) if killed.exists() else None

    @property
    def sentences(self) -> list[str]:
        """What the processes report in the end."""
        return [line.removeprefix("phasefit: ") for line in self.output.splitlines() if line.startswith("phasefit: ")]


@pytest.fixture(scope="module")
def wishes(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    table = write_csv(tmp_path_factory.mktemp("data") / "queries.csv", *make_table(80))
    options = ["train", str(table), "-r", "contrast-finetune", "-m", str(tiny_folder), "--device", "cpu", "--quiet"]
    for phase in ("contrast", "finetune"):
        options += ["--set", f"{phase}.max_steps={STEPS}", "--set", f"{phase}.evaluate_every=2"]
    return [*options, "--set", "contrast.batch_size=16", "--checkpoint-minutes", "0"]


@pytest.fixture(scope="module")
def unbroken(wishes: list[str], tmp_path_factory: pytest.TempPathFactory):
    """The folder of an uninterrupted run on a number of processes."""
    made: dict[int, Path] = {}

    def train(count: int) -> Path:
        if count not in made:
            folder = tmp_path_factory.mktemp("unbroken")
            done = Launched([*words_of("torchrun", count), *wishes, "-o", str(folder / "run")], folder)
            assert done.code == 0, done.output
            made[count] = folder / "run"
        return made[count]

    return train


def assert_equal(run: Path, other: Path) -> None:
    """Both have the same weights, bit for bit."""
    for name in ("encoder/model.safetensors", "heads.safetensors"):
        one, two = load_file(run / name), load_file(other / name)
        assert one.keys() == two.keys()
        assert all(torch.equal(one[key], two[key]) for key in one), name


@pytest.mark.parametrize("count", KILLS)
@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
def test_each_rank_is_killed(launcher: str, count: int, wishes: list[str], unbroken, tmp_path: Path) -> None:
    run = tmp_path / "run"
    advice = re.escape(f"resume it with: phasefit train --resume {run} (on {count} processes)")
    allowed = re.compile("|".join(f"({sentence.format(advice=advice)})" for sentence in SENTENCES))
    waits: list[float] = []
    for kill in KILLS[count]:
        words = ["train", "--resume", str(run), "--quiet"] if run.exists() else [*wishes, "-o", str(run)]
        ended = Launched([*words_of(launcher, count), *words], tmp_path, kill)
        assert ended.seconds is not None, f"{kill}: nobody was killed\n{ended.output}"
        print(kill, f"{ended.seconds:.1f} s", *dict.fromkeys(ended.sentences), sep=" | ")  # noqa: T201 - counts
        assert ended.code != 0
        assert ended.seconds < LIMIT, f"{kill}\n{ended.output}"
        assert "forcefully" not in ended.output, f"{kill}\n{ended.output}"
        assert "this is a bug" not in ended.output, f"{kill}\n{ended.output}"
        assert len(ended.sentences) < count, f"{kill}\n{ended.output}"
        assert all(allowed.fullmatch(sentence) for sentence in ended.sentences), f"{kill}\n{ended.output}"
        waits.append(ended.seconds)
    resumed = Launched([*words_of(launcher, count), "train", "--resume", str(run), "--quiet"], tmp_path)
    assert resumed.code == 0, resumed.output
    print(f"{launcher}, {count} processes: {len(waits)} kills, ended in at most {max(waits):.1f} s")  # noqa: T201
    assert read_json(run / "phasefit.json")["processes"] == count
    assert_equal(run, unbroken(count))


def test_another_number_of_processes_is_reported(wishes: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    killed = Launched([*words_of("torchrun", 2), *wishes, "-o", str(run)], tmp_path, (1, "gradient", 4))
    assert killed.code != 0
    resume = ["train", "--resume", str(run), "--quiet"]
    fewer = Launched([*words_of("torchrun", 1), *resume], tmp_path, (0, "gradient", 3))
    warning = (
        "warning: the number of processes was {} at the last checkpoint and is {} now: results may differ slightly"
    )
    assert warning.format(2, 1) in fewer.output
    more = Launched([*words_of("accelerate", 2), *resume], tmp_path)
    assert more.code == 0, more.output
    assert warning.format(1, 2) in more.output


def test_accelerate_starts_one_process_on_a_cpu(wishes: list[str], tmp_path: Path) -> None:
    words = [str(BIN / "accelerate"), "launch", "--num_processes", "2", "--cpu", "-m", "phasefit"]
    done = Launched([*words, *wishes, "-o", str(tmp_path / "run")], tmp_path)
    assert done.code == 0, done.output
    assert "warning: accelerate launch was asked for several processes but started one" in done.output
    assert read_json(tmp_path / "run" / "phasefit.json")["processes"] == 1
