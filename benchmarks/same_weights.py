"""Check that two revisions train the same weights, to show that a refactoring changed nothing.

    python benchmarks/same_weights.py main WORK
    python benchmarks/same_weights.py HEAD~3 HEAD --only few-shot,resumed --keep runs/kept --jobs 2

Both revisions are trained on this machine with `python -m phasefit`, this interpreter's libraries, one thread and fixed
seeds. WORK (or .) is the working tree when the script starts. The cases train at least 20 steps in every phase of
`three-phase`, `few-shot`, `multitask`, `label-aware`, `joint` and `mirror`; `resumed` is `few-shot`, stopped in the
middle of a phase and resumed, and must also equal `few-shot` of the same revision.

These must be equal: the tensors of every .safetensors file in the run folder, bit for bit; metrics.json (except
timings), history.json and labels.json; the files of `predict` and `embed`, byte for byte, and the output of `evaluate`.
The exit code is 1 if anything differs or fails.

`--keep FOLDER` keeps the results of commits, about 90 MB per case, for later comparisons. A result is identified by the
commit, the case, the versions of the libraries and the processor; results of WORK are never kept. If both revisions are
the same commit, the second is always trained.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from same_weights_cases import Case, chosen
from same_weights_compare import Comparison, compare, steps_of
from same_weights_run import CaseFailedError, Result, Revision, check_out, result_of, stop_all

HEADER = ["case", "steps", "tensors", "largest difference", "metrics", "predictions"]


@dataclass
class Outcome:
    """The comparison of one case, or the reason why it failed."""

    case: str
    steps: str = "-"
    comparison: Comparison | None = None
    problems: list[str] = field(default_factory=list)


def main() -> None:
    """Train, compare, print."""
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that temporary folders are removed
    cases = chosen(args.only)
    with tempfile.TemporaryDirectory(prefix="same-weights-") as scratch:
        sides = [check_out(name, Path(scratch) / f"source-{number}") for number, name in enumerate(args.revisions)]
        outcomes = compare_all(cases, sides, Path(scratch), args.keep, args.jobs)
    print(f"\n{table(outcomes)}\n")
    problems = [f"{outcome.case}: {problem}" for outcome in outcomes for problem in outcome.problems]
    print("\n".join(problems) or f"{sides[0].name} and {sides[1].name} train the same weights.")
    sys.exit(bool(problems))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs=2, metavar="REV", help="a commit, branch or tag, or WORK")
    parser.add_argument("--only", metavar="CASE[,CASE]", help="only these cases, and those that they must equal")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the results of commits here")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at a time, each with one thread")
    args = parser.parse_args()
    args.keep = args.keep.resolve() if args.keep else None
    return args


def compare_all(
    cases: Sequence[Case], sides: Sequence[Revision], scratch: Path, keep: Path | None, jobs: int
) -> list[Outcome]:
    """Train and compare every case; print one line per finished case."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            # Otherwise the kept result of a commit would be compared with itself.
            keeps = [keep, None if sides[0].commit == sides[1].commit else keep]
            started = {
                case.name: [
                    pool.submit(result_of, case, side, scratch, kept) for side, kept in zip(sides, keeps, strict=True)
                ]
                for case in cases
            }
            return [_outcome(case, sides, started) for case in cases]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise


def _outcome(case: Case, sides: Sequence[Revision], started: Mapping[str, Sequence[Future[Result]]]) -> Outcome:
    outcome, results = Outcome(case.name), []
    for side, future in zip(sides, started[case.name], strict=True):
        try:
            results.append(future.result())
        except CaseFailedError as error:
            outcome.problems.append(f"the training of {side.name} failed: {error}")
    if len(results) == len(sides):
        first, second = (result.folder for result in results)
        outcome.steps = ", ".join(f"{phase} {steps}" for phase, steps in steps_of(first).items())
        outcome.comparison = compare(first, second)
        outcome.problems += outcome.comparison.differences
    if case.same_as:
        for side, future, whole in zip(sides, started[case.name], started[case.same_as], strict=True):
            outcome.problems += _resume_differences(side, future, whole)
    took = ", ".join(f"{result.seconds:.0f} s" if result.seconds is not None else "kept" for result in results)
    verdict = "FAILED" if outcome.comparison is None else "DIFFERENT" if outcome.problems else "the same"
    print(f"{case.name}: {verdict}" + (f" ({took})" if took else ""), flush=True)
    return outcome


def _resume_differences(side: Revision, resumed: Future[Result], whole: Future[Result]) -> list[str]:
    """The differences from the uninterrupted run of the same revision; empty if a run failed, which is reported."""
    if resumed.exception() or whole.exception():
        return []
    differences = compare(whole.result().folder, resumed.result().folder).differences
    return [f"the resumed run of {side.name} differs from the uninterrupted one: {each}" for each in differences]


def table(outcomes: Sequence[Outcome]) -> str:
    """One line per case."""
    lines = [HEADER]
    for outcome in outcomes:
        result = outcome.comparison
        if result is None:
            lines.append([outcome.case, outcome.steps, "-", "-", "failed", "failed"])
            continue
        metrics, outputs = ("different" if each else "equal" for each in (result.metrics, result.outputs))
        lines.append([outcome.case, outcome.steps, str(result.tensors), f"{result.largest:.3g}", metrics, outputs])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join(padded)


if __name__ == "__main__":
    main()
