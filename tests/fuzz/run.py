"""Fuzz all targets for some minutes and print a table; failures become files of the corpus.

python tests/fuzz/run.py --minutes 5 --seed 0 [--targets tables,models]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for fuzz and tiny

from fuzz.expected import is_expected
from fuzz.harness import CORPUS, Case, Tally
from fuzz.targets import TARGETS
from fuzz.worker import Worker

ROUND = 10.0  # seconds for which a worker stays with a target
MOST_SAVED = 3  # files of a target that one run adds to the corpus
SHARE = {"models": 3.0, "checkpoints": 2.0}  # of the time, against 1 for the others


class Fuzzer:
    """Workers that take turns: each runs the target that is furthest behind its share of the time."""

    def __init__(self, names: list[str], seed: int, minutes: float) -> None:
        self.seed, self.end = seed, time.monotonic() + 60 * minutes
        self.tallies = {name: Tally() for name in names}
        self.numbers = dict.fromkeys(names, 0)
        self.spent = dict.fromkeys(names, 0.0)
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def work(self, place: Path) -> None:
        """The turns of one worker."""
        worker = Worker(place)
        try:
            while time.monotonic() < self.end:
                with self._lock:
                    name = min(self.spent, key=lambda one: self.spent[one] / SHARE.get(one, 1.0))
                    self.spent[name] += ROUND
                stop = min(self.end, time.monotonic() + ROUND)
                while time.monotonic() < stop:
                    self._one(worker, name)
            worker.close()
        except (RuntimeError, OSError) as error:
            self.problems.append(f"{error}\n{(place / 'worker.log').read_text(errors='replace')[-2000:]}")

    def _one(self, worker: Worker, name: str) -> None:
        with self._lock:
            number = self.numbers[name]
            self.numbers[name] += 1
        case, outcome = worker.run(name, seed=self.seed, number=number)
        with self._lock:
            self.tallies[name].add(case, outcome, is_expected(case, outcome))


def smallest(case: Case, worker: Worker, where: str) -> Case:
    """The case without edits that the failure does not need."""
    edits = list(case.edits)
    for edit in list(edits):
        fewer = [one for one in edits if one is not edit]
        tried = Case(case.target, case.base, case.file, case.form, fewer, case.seed, case.more)
        if fewer and worker.run(case.target, case=tried)[1].where == where:
            edits = fewer
    return Case(case.target, case.base, case.file, case.form, edits, case.seed, case.more)


def main() -> int:
    """Fuzz, print, save failures; 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    given = parser.parse_args()
    fuzzer = Fuzzer(given.targets.split(","), given.seed, given.minutes)
    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=fuzzer.work, args=(Path(folder) / str(job),)) for job in range(given.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        saved = _save(fuzzer, Path(folder) / "again")
    _print(fuzzer)
    for path in saved:
        print(f"saved {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    for problem in fuzzer.problems:
        print(problem, file=sys.stderr)
    return 1 if fuzzer.problems or any(tally.failures for tally in fuzzer.tallies.values()) else 0


def _save(fuzzer: Fuzzer, place: Path) -> list[Path]:
    saved: list[Path] = []
    if not any(tally.failures for tally in fuzzer.tallies.values()):
        return saved
    worker = Worker(place)
    for tally in fuzzer.tallies.values():
        for where, (case, outcome, _) in list(tally.failures.items())[:MOST_SAVED]:
            small = smallest(case, worker, where)
            saved.append(small.write(CORPUS, f"{where}: {outcome.why}"))
    worker.close()
    return saved


def _print(fuzzer: Fuzzer) -> None:
    names = ("target", "cases", "refused", "accepted", "expected", "failures")
    print(f"seed {fuzzer.seed}\n" + "".join(f"{name:>12}" for name in names))
    for name, tally in fuzzer.tallies.items():
        counts = (tally.cases, *(tally.counts[kind] for kind in ("refused", "accepted", "expected", "failed")))
        print(f"{name:>12}" + "".join(f"{count:>12,}" for count in counts))
    for name, tally in fuzzer.tallies.items():
        for where, (case, outcome, times) in tally.failures.items():
            print(f"{name}: {times} x {where} (seed {case.seed}, {case.file}): {outcome.why[:160]}")


if __name__ == "__main__":
    sys.exit(main())
