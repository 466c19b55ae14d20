"""Prediction in shards that is killed anywhere and repeated: the output equals that of an uninterrupted run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from killing_shards import Forks
from phasefit.data.io.frames import write_frame
from sharded import content, save_small

ROWS, SHARD_ROWS, SHARDS = 29, 4, 8
KILLED = -9
COUNTS = {  # how often a place is reached: the manifest, the shards, and for one file the merged file and its hash
    "folder": {"write": SHARDS + 1, "rename": SHARDS + 1, "renamed": SHARDS, "predict": SHARDS},
    "file": {"write": SHARDS + 3, "rename": SHARDS + 4, "renamed": SHARDS + 4, "predict": SHARDS, "remove": 1},
}


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    started = Forks()
    yield started
    started.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    save_small(folder / "run")
    texts = [f"{('good day', 'bad', 'the', '')[row % 4]} {row}" for row in range(ROWS)]
    for ending in ("csv", "jsonl", "parquet"):
        write_frame(pd.DataFrame({"text": texts, "n": [str(row) for row in range(ROWS)]}), folder / f"in.{ending}")
    return folder


def words(place: Path, ending: str, out: str) -> list[str]:
    options = ["--shard-rows", str(SHARD_ROWS), "--threads", "1", "--quiet"]
    return ["predict", str(place / "run"), str(place / f"in.{ending}"), "-o", out, *options]


def outcome(kind: str, out: Path) -> dict[str, bytes]:
    """Everything that a command leaves."""
    if kind == "folder":
        return content(out) if out.is_dir() else {}
    working = out.parent / f".{out.name}.phasefit"
    left = {f"work/{name}": data for name, data in content(working).items()} if working.is_dir() else {}
    return ({"": out.read_bytes()} if out.is_file() else {}) | left


def is_unfinished(kind: str, out: Path) -> bool:
    """Whether a shard is missing, or the file, or the working folder of a file is left."""
    if kind == "file":
        return not out.is_file() or (out.parent / f".{out.name}.phasefit").is_dir()
    return not out.is_dir() or len(list(out.glob("part-*"))) < SHARDS


def kill_and_resume(forks: Forks, place: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    kind, ending = ("folder", "file")[seed % 2], ("csv", "jsonl", "parquet")[seed % 3]
    whole, killed = (place / f"{name}-{seed}" for name in ("whole", "killed"))
    if kind == "file":
        whole, killed = (path.with_suffix(f".{ending}") for path in (whole, killed))
    targets = [f"{path}{'/' * (kind == 'folder')}" for path in (whole, killed)]
    assert forks.run(words(place, ending, targets[0])) == 0
    expected = outcome(kind, whole)
    assert len(expected) == (SHARDS + 1 if kind == "folder" else 1)
    for turn in range(int(random.integers(1, 3))):  # also kill what resumes
        where = str(random.choice(list(COUNTS[kind])))
        count = int(random.integers(1, COUNTS[kind][where] + 1))
        code = forks.run(words(place, ending, targets[1]), where, count)
        if code == 0 and turn:  # resumed work reaches a place less often
            break
        assert code == KILLED, (where, count)
        assert turn or is_unfinished(kind, killed), "the first kill must hit unfinished work"
    else:
        assert forks.run(words(place, ending, targets[1])) == 0
    assert outcome(kind, killed) == expected
    hidden = [path for path in place.iterdir() if path.name.startswith(".")]
    assert not hidden


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_killed_and_resumed(forks: Forks, place: Path, seed: int) -> None:
    kill_and_resume(forks, place, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 30))
def test_killed_anywhere(forks: Forks, place: Path, seed: int) -> None:
    kill_and_resume(forks, place, seed)
