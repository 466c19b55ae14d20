"""`phasefit predict` in shards, killed at a place in the code: a script that forks a child per job, and its test side.

Like `killing`, it imports everything once, so that a kill costs no import.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLACES = ("write", "rename", "renamed", "predict", "remove")


class Forks:
    """Starts the script and hands it jobs."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words: list[str], place: str = "", count: int = 0) -> int:
        """Run a command in a child that kills itself the `count`th time it reaches the place; the exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"words": words, "place": place, "count": count}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the script."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)


def die(*_: Any) -> None:
    """Die at once, as if killed for using too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def half_written(path: Path, fill: Callable[[Path], object]) -> None:
    """Write half of a file, and die."""
    fill(path)
    os.truncate(path, path.stat().st_size // 2)
    die()


def die_at(place: str, count: int) -> None:
    """Arrange to die at a place."""
    from phasefit.files import system
    from phasefit.models.tfidf.model import TfidfModel

    left = count

    def replaced(owner: Any, name: str, instead: Callable[..., None], *, after: bool = False) -> None:
        real = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and not after:
                instead(*arguments)
            result = real(*arguments, **named)
            if left == 0:
                die()
            return result

        setattr(owner, name, counted)

    if place == "write":
        replaced(system, "write", half_written)
    elif place == "rename":
        replaced(system, "rename", die)
    elif place == "renamed":
        replaced(system, "rename", die, after=True)
    elif place == "predict":
        replaced(TfidfModel, "predict_outputs", die)
    elif place == "remove":
        replaced(system, "remove_tree", die)
    elif place:
        raise ValueError(place)


def main() -> None:
    """Fork a child per line of standard input and answer with its exit code."""
    import pandas  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import torch

    import phasefit.cli.row_progress
    import phasefit.cli.shards
    import phasefit.models.tfidf.storage
    import phasefit.predicting.run
    import phasefit.training.device  # noqa: F401
    from phasefit.cli.app import app

    torch.set_num_threads(1)
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)
            die_at(job["place"], job["count"])
            try:
                app(job["words"], standalone_mode=False)
            except BaseException as error:  # noqa: BLE001 - printed with the output of the test
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
