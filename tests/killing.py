"""Runs that are killed: at a place in the code, at a moment of the training, or at any time from outside.

Run as a script, it imports everything once and then forks a child for each job it receives, so that a kill costs no
import; `Nursery` is the side of the test. The child kills itself with SIGKILL, which no handler sees, or it is a whole
`phasefit` command, which runs and exits like one started from a shell, and gets its signals from the test.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Job = dict[str, Any]


class Nursery:
    """Starts the script and hands it jobs, one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        )

    def train(
        self,
        *,
        kill: Any = None,
        after: float | None = None,
        pictures: bool = False,
        large: int | None = None,
        **request: Any,
    ) -> int:
        """Start a new run; return the exit code of the child, negative for a signal.

        `large` is the size from which a file is read piece by piece, in bytes.
        """
        return self._run({"request": request, "kill": kill, "after": after, "pictures": pictures, "large": large})

    def resume(
        self,
        run: Path,
        *,
        kill: Any = None,
        after: float | None = None,
        pictures: bool = False,
        large: int | None = None,
    ) -> int:
        """Resume a run."""
        return self._run({"resume": str(run), "kill": kill, "after": after, "pictures": pictures, "large": large})

    def start(self, *words: str, output: Path, signal: tuple[int, int] | None = None, **environment: str) -> int:
        """Start `phasefit` with these arguments in the background; return its process id.

        `signal`: a number, and after how many steps of training the process sends it to itself.
        """
        return self._run({"command": words, "output": str(output), "signal": signal, "environment": environment})

    def wait(self, process: int) -> int:
        """Wait for a command; return its exit code, negative for a signal."""
        return self._run({"wait": process})

    def _run(self, job: Job) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job, default=str) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the script."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)


def die() -> None:
    """Die at once, as if killed for using too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(place: str, count: int) -> Callable[[Any], None]:
    """Arrange to die at a place in the code, the `count`th time it is reached; return the listener for the run."""
    from phasefit.events import PhaseEnded, PhaseStarted, Scored, StepDone
    from phasefit.files import atomic
    from phasefit.models import storage as models
    from phasefit.report import run as report
    from phasefit.runs import folder, job
    from phasefit.training import checkpoints

    left = count

    def now() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    def before(owner: Any, name: str, instead: Callable[..., None] = lambda *_, **__: die()) -> None:
        real = getattr(owner, name)

        def killed(*arguments: Any, **named: Any) -> Any:
            if now():
                instead(*arguments, **named)
            return real(*arguments, **named)

        setattr(owner, name, killed)

    def half_a_file(path: Path, tensors: Any) -> None:
        real_write(path, tensors)
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size // 2)
        die()

    def half_a_folder(path: Path) -> None:
        (path / checkpoints.TENSORS).unlink(missing_ok=True)
        die()

    real_write = checkpoints.write_tensors
    kinds = {"step": StepDone, "scored": Scored, "started": PhaseStarted, "ended": PhaseEnded}
    if place == "tensors":
        before(checkpoints, "write_tensors", half_a_file)
    elif place == "flush":
        before(atomic, "sync_tree")
    elif place == "rotate":
        before(checkpoints, "discard_tree", half_a_folder)
    elif place == "begin":
        before(job, "write_text")
    elif place == "model":
        before(models, "write_tensors")
    elif place == "report":
        before(report, "write_report")
    elif place == "finish":
        before(folder.RunFolder, "finish")
    elif place == "finished":
        before(folder.RunFolder, "clear")
    elif place not in kinds:
        raise ValueError(place)

    def listen(event: Any) -> None:
        if place in kinds and isinstance(event, kinds[place]) and now():
            die()

    return listen


def work(job: Job) -> None:
    """The child: train or resume."""
    import phasefit.report.run
    from phasefit.data.io import pieces
    from running import resume, train
    from specs import run_spec

    if job["large"] is not None:
        pieces.LARGE, pieces.AT_ONCE = job["large"], 7
    if not job["pictures"]:  # they take longer than all the rest
        phasefit.report.run.write_report = lambda *_, **__: None
    listen = die_at(*job["kill"]) if job["kill"] else lambda _: None
    if "resume" in job:
        resume(Path(job["resume"]), listen)
    else:
        given = job["request"]
        lists = {name: tuple(given[name]) for name in ("settings", "label") if name in given}
        train(run_spec(**given | lists | {"out": Path(given["out"])}), listen)


def signal_after(number: int, steps: int) -> None:
    """Arrange for a signal to this process after this number of steps, before the next one starts."""
    from phasefit.runs.fitting.checkpointer import Checkpointer

    real, left = Checkpointer.on_step_end, steps

    def counted(*arguments: Any) -> None:
        nonlocal left
        real(*arguments)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), number)

    Checkpointer.on_step_end = counted  # type: ignore[method-assign]


def command(job: Job) -> None:
    """The child: `phasefit`, including the exit of the interpreter."""
    from phasefit.cli import main as phasefit

    if job["signal"] is not None:
        signal_after(*job["signal"])
    os.environ |= job["environment"]
    sys.argv = ["phasefit", *job["command"]]
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    phasefit()


def answer(number: int) -> None:
    """Send a number to the test."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    """Fork a child per line of standard input and answer with its exit code, or with its id if it is not waited for."""
    import matplotlib.pyplot  # noqa: F401
    import sklearn.linear_model
    import sklearn.manifold  # noqa: F401
    import transformers.models.bert.modeling_bert  # noqa: F401

    import phasefit.cli  # noqa: F401
    import running  # noqa: F401
    import tiny  # noqa: F401

    gc.freeze()  # a child that collects garbage, as every phase does, need not scan what was imported
    for line in sys.stdin:
        job = json.loads(line)
        child = job["wait"] if "wait" in job else os.fork()
        if child == 0 and "command" in job:
            return command(job)
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = 1
            try:
                work(job)
                code = 0
            except BaseException as error:  # noqa: BLE001 - printed with the output of the test
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
            finally:
                sys.stderr.flush()
                os._exit(code)
        if "command" in job:
            answer(child)
            continue
        if job.get("after") is not None:
            time.sleep(job["after"])
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        answer(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
