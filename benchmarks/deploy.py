"""Deployment: a run in torch and its exports, compared with sentence-transformers and SetFit.

    python benchmarks/deploy.py
    python benchmarks/deploy.py --texts 200 --rounds 1 --work /tmp/deploy --out /tmp/deploy    # a trial

A few-shot run is trained and exported without `--force`. Every contestant is a process of its own with one thread
(`deploy_worker.py`). All are open at the same time, and one computes at a time: every round runs each of them once, in
rotating order, on all texts, then on single test rows, then in a new process until its first answer. Ratios are
computed within a round from CPU seconds, and their median over rounds is reported. SetFit takes part if its environment
exists (`rivals/install.py setfit`); its ONNX export also needs the packages that `rivals/setfit/deploy.py` names.

Only a run of full size with new models writes `results/deploy.{csv,md}`. A trial prints its table, and writes it with
`--out`.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from deploy_models import REFERENCE, THREADS, Contestant, Rows, facts, make
from deploy_process import Worker, WorkerFailedError
from deploy_table import Measured, Times, cells_of, least_share, markdown, write
from predict import MIXTURE, mixture

RESULTS = Path(__file__).parent / "results"
TEXTS, ROUNDS, SINGLES = 10_000, 3, 300
DATA, ROWS = "snips2", 112
PACKAGES = (
    *("phasefit", "phasefit-runtime", "torch", "transformers", "sentence-transformers", "onnxruntime", "openvino"),
    *("tokenizers", "numpy"),
)


def main() -> None:
    """Make the models, measure, print the tables and write them."""
    args = parse()
    out = target(args)
    folder = args.data_dir or os.environ.get("PHASEFIT_DATA")
    if not folder:
        raise SystemExit("set --data-dir or PHASEFIT_DATA to the folder of the named datasets")
    texts = mixture(Path(folder), args.texts)
    with tempfile.TemporaryDirectory(prefix="phasefit-deploy-") as temporary:
        work = args.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        contestants, test = make(work, args.data, args.rows)
        measured, problems = measure(contestants, texts, test, args.rounds, args.singles)
        if REFERENCE in problems:
            raise SystemExit(f"{REFERENCE} failed: {problems[REFERENCE]}")
        cells = cells_of(contestants, measured, problems, test, len(texts))
        text = markdown(cells, command=command(args), description=described(args, texts, test, measured, facts(work)))
    print(text)
    if out is not None:
        write(out, cells, text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--texts", type=int, default=TEXTS, help=f"distinct texts of {', '.join(MIXTURE)}; default: {TEXTS:,}")
    add("--rounds", type=int, default=ROUNDS)
    add("--singles", type=int, default=SINGLES, help="test rows per round that are sent one by one")
    add("--data", default=DATA, help="the named dataset of the run")
    add("--rows", type=int, default=ROWS, help="its training rows")
    add("--data-dir", type=Path, help="folder of the named datasets; default: PHASEFIT_DATA")
    add("--work", type=Path, help="keep the models in this folder, and use those that are there (a trial)")
    add("--out", type=Path, help="folder of the tables; default: benchmarks/results if it is not a trial")
    args = parser.parse_args()
    for name in ("texts", "rounds", "singles", "rows"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return args


def target(args: argparse.Namespace) -> Path | None:
    """Where to write the tables: a trial never replaces the results."""
    out: Path | None = args.out
    trial = args.work is not None or args.texts < TEXTS or args.rounds < ROUNDS or args.singles < SINGLES
    if not trial:
        return out or RESULTS
    if out is not None and out.resolve() == RESULTS.resolve():
        raise SystemExit("this is a trial (fewer texts or rounds, or --work): write it to another folder")
    return out


def measure(
    contestants: Sequence[Contestant], texts: list[str], test: Rows, rounds: int, singles: int
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Measure all contestants; one that fails is left out from then on, with the reason."""
    problems = {one.name: one.problem for one in contestants if one.problem}
    measured = {one.name: Measured() for one in contestants}
    workers: dict[str, Worker] = {}

    def each(what: str, turn: int, action: Callable[[Contestant, Measured], None]) -> None:
        for one in rotated(contestants, turn):
            if one.name in problems:
                continue
            begin = time.perf_counter()
            try:
                action(one, measured[one.name])
                print(f"{what}: {one.name}: {time.perf_counter() - begin:.1f} s", flush=True)
            except WorkerFailedError as error:
                problems[one.name] = str(error)
                print(f"{what}: {one.name} failed: {error}", flush=True)

    with ExitStack() as stack:

        def first(one: Contestant, own: Measured) -> None:
            """Open the contestant and score it; this also warms it up."""
            workers[one.name] = stack.enter_context(Worker(one.command, one.environment))
            own.labels = workers[one.name].ask("answer", test.texts)["labels"]

        def many(one: Contestant, own: Measured) -> None:
            answer = workers[one.name].ask("answer", texts)
            own.many.add(answer["cpu_seconds"][0], answer["seconds"][0])

        def single(one: Contestant, own: Measured) -> None:
            answer = workers[one.name].ask("singles", test.texts[:singles])
            own.singles.append(Times(answer["cpu_seconds"], answer["seconds"]))

        def start(one: Contestant, own: Measured) -> None:
            with Worker(one.command, one.environment) as worker:
                cpu = worker.ask("answer", test.texts[:1])["process_seconds"]
                own.start.add(cpu, time.perf_counter() - worker.started)

        def memory(one: Contestant, own: Measured) -> None:
            figures = workers[one.name].ask("figures")
            own.peak_mb, own.imports_torch = figures["peak_mb"], figures["imports_torch"]

        each("test rows", 0, first)
        for turn in range(rounds):
            each(f"round {turn + 1}, {len(texts):,} texts", turn, many)
            each(f"round {turn + 1}, single texts", turn, single)
            each(f"round {turn + 1}, start-up", turn, start)
        each("memory", 0, memory)
    return {name: own for name, own in measured.items() if name not in problems}, problems


def rotated(contestants: Sequence[Contestant], turn: int) -> Iterator[Contestant]:
    """The contestants, beginning with another one in each round."""
    first = turn % len(contestants)
    yield from (*contestants[first:], *contestants[:first])


def command(args: argparse.Namespace) -> str:
    """The command, with the options that determine the figures."""
    used = f"--texts {args.texts} --rounds {args.rounds} --singles {args.singles} --data {args.data} --rows {args.rows}"
    return f"python benchmarks/deploy.py {used}"


def described(
    args: argparse.Namespace, texts: list[str], test: Rows, measured: dict[str, Measured], run: dict[str, int]
) -> str:
    """What was measured, and how."""
    singles = test.texts[: args.singles]
    words = sum(len(text.split()) for text in singles) / len(singles)
    without = [name for name, own in measured.items() if not own.imports_torch]
    parts = (
        f"Python {platform.python_version()}, {', '.join(versions())}.",
        f"{THREADS} thread, {args.rounds} interleaved rounds.",
        f"A few-shot run on {run['rows']} rows of {args.data} ({run['classes']} classes), its exports (made without",
        "`--force`), and its encoder and head weights in sentence-transformers; SetFit is trained on the same rows.",
        f"Texts per second: {len(texts):,} distinct texts of {', '.join(MIXTURE)}, median of the rounds.",
        f"One text: {len(singles):,} test rows of {words:.1f} words on average, percentiles over all rounds.",
        "Start-up: from the start of the process to its first answer, files in the page cache.",
        "Peak memory: resident, of the process that answered all of this.",
        "Size on disk: the model without libraries.",
        f"Accuracy, and the share of answers that are equal to torch: {len(test.labels):,} test rows; exports are",
        "checked on validation and test rows before they are written.",
        f"Without torch: {'; '.join(without) or 'none'}.",
        f"The least share of its core that a contestant got in a round: {least_share(measured):.0%}.",
    )
    return " ".join(parts)


def versions() -> Iterator[str]:
    """The installed packages with their versions."""
    for package in PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue


if __name__ == "__main__":
    main()
