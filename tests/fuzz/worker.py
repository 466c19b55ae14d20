"""A process that runs the cases of dangerous targets, each in a fork with limits of time and memory.

Run as a script, it reads jobs from standard input, one JSON object per line, and answers each with one line. `Worker`
is the other side. Everything is imported and the intact folders are made once, so that a case costs a fork.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Worker:
    """Starts the script and hands it jobs."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        paths = os.pathsep.join([str(HERE.parent), str(HERE.parents[1] / "src")])
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
        environment["MPLCONFIGDIR"] = str(place / "matplotlib")
        self._errors = (place / "worker.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**environment, "PYTHONPATH": paths},
        )

    def run(self, target: str, *, seed: int = 0, number: int = 0, case: Any = None) -> tuple[Any, Any]:
        """Run one case, drawn or given; return the case and its outcome."""
        from fuzz.harness import Case, Outcome

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"target": target, "seed": seed, "number": number, "case": None if case is None else asdict(case)}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended; see {self._errors.name}")
        answer = json.loads(line)
        return Case(**answer["case"]), Outcome(**answer["outcome"])

    def close(self) -> None:
        """End the script."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()


def main(place: Path) -> None:
    """Serve jobs until the input ends."""
    import fuzz.targets as targets
    from fuzz.harness import Case

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints must not mix with the answers
    known: dict[str, Any] = {}
    for line in sys.stdin:
        job = json.loads(line)
        if job["target"] not in known:
            known[job["target"]] = targets.make(job["target"], place / job["target"])
            _warm_up(known[job["target"]])
        target = known[job["target"]]
        case = Case(**job["case"]) if job["case"] is not None else target.case(job["seed"], job["number"])
        target.base(case.base)  # here, not in the fork
        outcome = _in_fork(target, case) if target.dangerous else target.try_case(case)
        answers.write(json.dumps({"case": asdict(case), "outcome": asdict(outcome)}) + "\n")
        answers.flush()


def _warm_up(target: Any) -> None:
    """Run intact cases here, so that no fork has to import anything."""
    import phasefit.report.facts.run
    import phasefit.report.run

    phasefit.report.run.draw_run = lambda *_, **__: []  # type: ignore[assignment]
    phasefit.report.facts.run.stage_layouts = lambda *_: {}  # type: ignore[assignment]
    for case in target.intact():
        target.execute(target.prepare(case), case)
    gc.collect()
    gc.freeze()


def _in_fork(target: Any, case: Any) -> Any:
    """Run a case in a fork; one that does not end in time is killed."""
    from fuzz.harness import FAILED, Outcome

    folder = target.prepare(case)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(target, case, folder, writing)
    os.close(writing)
    deadline, data = time.monotonic() + target.seconds, b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(deadline - time.monotonic(), 0))
        part = os.read(reading, 1 << 16) if ready else b""
        if not part:
            break
        data += part
    os.close(reading)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ready:
        return Outcome(FAILED, f"more than {target.seconds:g} s", f"TooSlow {case.file}")
    if not data:
        return Outcome(FAILED, f"the process died with status {status}", f"died with {status}, {Path(case.file).name}")
    return Outcome(**json.loads(data))


def _child(target: Any, case: Any, folder: Path, answer: int) -> None:
    from fuzz import harness

    os.chdir(target.place / "here")
    os.environ["HOME"] = str(target.place / "home")
    hard = harness._address_space() + harness.MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (harness.MEMORY, harness.MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    free = target.may_change(folder, case)
    before = harness.listing(target.place, without=free)
    try:
        target.execute(folder, case)
        outcome = harness.Outcome(harness.ACCEPTED)
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
        outcome = harness.outcome_of(error)
    if outcome.kind != harness.FAILED:
        changed = harness.changes(before, harness.listing(target.place, without=free))
        if changed:
            outcome = harness.Outcome(harness.FAILED, f"changed {', '.join(changed[:3])}", "changed files")
    os.write(answer, json.dumps(asdict(outcome)).encode())
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
