"""Memory by number of rows: `phasefit train` beyond the table and its tokens, and the pairs of SetFit.

    python benchmarks/memory.py --sizes 10000,100000,1000000 --rival-python RIVAL/bin/python

Each line is its own process with one thread and does what `phasefit train` does, in the same order: read, label and
split; load the model; tokenise; build `contrast` and train a few steps of it, with evaluations; then build `denoise`
and `finetune` and draw every batch of one epoch. The peak of each stage is measured separately. The tables are
generated from the words of a named dataset in a temporary folder; each class is a third of the size of the previous
one. Lines that are already in `--out`/memory.csv are not measured again.

SetFit is measured only if `--rival-python` names an interpreter that has it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from measuring import new_peak, peak, resident

Line: TypeAlias = dict[str, Any]

STAGES = ["read", "load", "tokenise", "build", "train"]  # stages of the contrast phase
EPOCHS = ["denoise", "finetune"]  # phases of which only one epoch of batches is drawn
FIELDS = [
    *("what", "rows", "pairs", "status", "table_mb", "tokens_mb", "start_mb"),
    *(f"{stage}_mb" for stage in STAGES + EPOCHS),
    *("peak_mb", "rest_mb", "seconds", "version"),
]
OURS = {"phasefit, in-batch pairs": "batch", "phasefit, explicit pairs": "explicit"}
RIVALS = {"SetFit, all pairs": -1, "SetFit, max_steps = 20": 20}
SHORTEST, LONGEST, AT_ONCE = 6, 26, 10_000


def main() -> None:
    """Measure every line, then write the files."""
    args = parse()
    if args.cell:
        print(json.dumps(measure(args.cell, args.pairs, args.steps, args.model)))
        return
    out = args.out / "memory.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    done, wanted = [] if args.again else read(out), wanted_lines(args)
    with tempfile.TemporaryDirectory() as folder:
        for rows, whats in wanted.items():
            missing = [what for what in whats if not any(is_line(line, what, rows) for line in done)]
            table = write_table(Path(folder) / "table.csv", rows, args) if missing else Path()
            for what in missing:
                done.append(ours(table, what, rows, args) if what in OURS else rival(table, what, rows, args))
                write(out, done)
                print(done[-1], flush=True)
    order = list(OURS | RIVALS)
    lines = [line for line in done if line["what"] in wanted.get(line["rows"], [])]
    lines.sort(key=lambda line: (order.index(line["what"]), line["rows"]))
    text = summary(lines, args)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def wanted_lines(args: argparse.Namespace) -> dict[int, list[str]]:
    """The lines to measure for each number of rows."""
    wanted: dict[int, list[str]] = {}
    mine = [what for what, pairs in OURS.items() if pairs in args.pairs.split(",")]
    for sizes, whats in ((args.sizes, mine), (args.rival_sizes if args.rival_python else "", list(RIVALS))):
        for rows in map(int, filter(None, sizes.split(","))):
            wanted.setdefault(rows, []).extend(whats)
    return wanted


def is_line(line: Line, what: str, rows: int) -> bool:
    """Whether a line of the file is the requested one."""
    return bool(line["what"] == what and line["rows"] == rows)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--sizes", default="10000,100000,1000000", help="numbers of rows, comma-separated")
    add("--steps", type=int, default=20, help="number of contrast steps")
    add("--words", default="trec", help="the dataset whose words form the texts")
    add("--model", help="default: the default model")
    add("--seed", type=int, default=0)
    add("--again", action="store_true", help="also measure finished lines again")
    add("--rival-python", help="an interpreter that has SetFit")
    add("--rival-sizes", default="1000,2000,5000,10000,25000")
    add("--rival-limit", type=float, default=8, help="memory limit for the pairs of the rival in GB")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    add("--pairs", default="batch,explicit", help="kinds of pairs, comma-separated: batch, explicit")
    add("--cell", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- the table --------------------------------------------------------------------------------------------------------


def write_table(path: Path, rows: int, args: argparse.Namespace) -> Path:
    """Write texts of random words of a class; each class is a third of the size of the previous one."""
    import numpy as np

    from phasefit.data import read_dataset

    source = read_dataset(args.words).train
    words: dict[str, list[str]] = {}
    for text, label in zip(source.texts, source.labels or (), strict=True):
        words.setdefault(str(label), []).extend(text.split())
    names = sorted(words)
    share = np.array([3.0**-place for place in range(len(names))])
    random = np.random.default_rng(args.seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", "label"])
        for start in range(0, rows, AT_ONCE):
            count = min(AT_ONCE, rows - start)
            owners = random.choice(len(names), count, p=share / share.sum())
            if start == 0:  # small tables have every class too
                owners[: 4 * len(names)] = np.arange(min(4 * len(names), count)) % len(names)
            writer.writerows(made(owners, names, words, random))
    return path


def made(owners: Any, names: Sequence[str], words: dict[str, list[str]], random: Any) -> Iterator[tuple[str, str]]:
    """A text and a label for each class code."""
    lengths = random.integers(SHORTEST, LONGEST + 1, len(owners))
    places = random.random(int(lengths.sum()))
    ends = lengths.cumsum()
    for owner, end, length in zip(owners.tolist(), ends.tolist(), lengths.tolist(), strict=True):
        known = words[names[owner]]
        yield " ".join(known[int(place * len(known))] for place in places[end - length : end].tolist()), names[owner]


# --- ours -------------------------------------------------------------------------------------------------------------


def ours(table: Path, what: str, rows: int, args: argparse.Namespace) -> Line:
    """Measure one line in its own process."""
    command = [sys.executable, __file__, "--cell", str(table), "--pairs", OURS[what], "--steps", str(args.steps)]
    command += ["--model", args.model] if args.model else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{what}, {rows} rows failed:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    return {"what": what, "rows": rows, "status": "done", **rounded(result)}


def measure(path: Path, pairs: str, steps: int, model: str | None = None) -> Line:
    """Do what `runs.train` does until the end of the contrast phase, stage by stage; then draw epochs of others."""
    import time

    from phasefit.prepare.prepare import prepare
    from phasefit.recipes import read_recipe
    from phasefit.runs.fitting.starting import starting_model
    from phasefit.runs.specification import run_spec

    start, line = time.perf_counter(), {"start_mb": resident()}
    settings = {"contrast.max_steps": steps, "contrast.min_steps": 1, "contrast.pairs": pairs}
    if pairs == "explicit":
        settings["contrast.objective"] = "cosine"
    request = run_spec(path, settings=settings, threads=1, device="cpu", model=model)
    recipe = read_recipe("three-phase", settings)
    new_peak()
    prepared = prepare(request.data, request.split, seed=request.seed)
    line["read_mb"] = peak()

    from phasefit.phases import PHASES
    from phasefit.runs.fitting.index_rows import index_rows
    from phasefit.training.device import make_accelerator, set_threads
    from phasefit.training.loop import train_phase

    new_peak()
    set_threads(1)
    accelerator = make_accelerator("cpu", "no")
    model_ = starting_model(request, prepared)
    line["load_mb"] = peak()
    new_peak()
    data = index_rows(model_, prepared, recipe, 0, lambda event: None)
    line["tokenise_mb"] = peak()

    def build(name: str) -> Any:
        options = recipe.phases[recipe.phase_names.index(name)]
        return PHASES.get(options.kind).phase_class()(name, options, model_, data, 0)

    new_peak()
    phase = build("contrast")
    line["build_mb"] = peak()
    new_peak()
    for _ in train_phase(phase, accelerator, seed=0):
        pass
    line["train_mb"] = peak()
    line["pairs"] = phase.pairs
    line["seconds"] = time.perf_counter() - start
    line["peak_mb"] = max(line[f"{stage}_mb"] for stage in STAGES)
    del phase
    for name in EPOCHS:
        new_peak()
        seen = sum(len(next(iter(draw.values()))) for draw in build(name).batches.epoch(0))
        assert seen >= len(prepared.train)
        line[f"{name}_mb"] = peak()
    line["table_mb"], line["tokens_mb"] = table_size(prepared), token_size(data.tokens)
    line["rest_mb"] = line["peak_mb"] - line["table_mb"] - line["tokens_mb"]
    return line


def table_size(prepared: Any) -> float:
    """MB of the texts, the distinct labels and the lists that hold them."""
    total, labels = 0, {}
    for table in (prepared.train, prepared.validation, prepared.test):
        total += sum(map(sys.getsizeof, table.texts)) + sys.getsizeof(table.texts) + sys.getsizeof(table.labels)
        labels |= {id(label): sys.getsizeof(label) for label in table.labels}
    return float(total + sum(labels.values())) / 1e6


def token_size(tokens: Any) -> float:
    """MB of all token arrays: ids, word numbers, starts of texts, truncated tokens."""
    return float(sum(array.nbytes for array in vars(tokens).values() if hasattr(array, "nbytes"))) / 1e6


# --- the rival --------------------------------------------------------------------------------------------------------


def rival(table: Path, what: str, rows: int, args: argparse.Namespace) -> Line:
    """Build the pairs of SetFit in its own interpreter, under a memory limit."""
    script = Path(__file__).with_name("memory_setfit.py")
    command = [args.rival_python, str(script), str(table), "--limit", str(args.rival_limit)]
    command += ["--max-steps", str(RIVALS[what])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        result = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):  # some code ends the process at the limit instead of raising MemoryError
        return {"what": what, "rows": rows, "status": f"died (exit code {done.returncode})"}
    if result["status"] != "done":
        result["pairs"] = ""
    return {"what": what, "rows": rows, **rounded(result)}


# --- the files --------------------------------------------------------------------------------------------------------


def rounded(line: Line) -> Line:
    """Whole megabytes and seconds."""
    return {name: round(value) if isinstance(value, float) else value for name, value in line.items()}


def write(path: Path, lines: Sequence[Line]) -> None:
    """Write all lines."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(lines)


def read(path: Path) -> list[Line]:
    """The finished lines."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return [{name: int(cell) if cell.isdigit() else cell for name, cell in line.items() if cell} for line in lines]


def summary(lines: Sequence[Line], args: argparse.Namespace) -> str:
    """The Markdown tables."""
    arguments = ["RIVAL/bin/python" if given == args.rival_python else given for given in sys.argv[1:]]
    parts = [
        "# Memory by number of rows",
        f"`{' '.join(['python', 'benchmarks/memory.py', *arguments])}`",
        "Peak resident memory in MB (10^6 bytes); each line is one process with one thread. Rest: the peak minus "
        "texts, labels and token arrays; most of it is Python, torch, the model and its training.",
    ]
    mine = [line for line in lines if line["what"] in OURS]
    columns = ["what", "rows", "pairs", "table_mb", "tokens_mb", "peak_mb", "rest_mb", "seconds"]
    parts.append(markdown(mine, columns))
    parts += [growth([line for line in mine if line["what"] == what]) for what in OURS]
    parts.append("The peak of each stage. `denoise` and `finetune` are only built, and one epoch of batches is drawn.")
    parts.append(markdown(mine, ["what", "rows", "start_mb", *(f"{stage}_mb" for stage in STAGES + EPOCHS)]))
    theirs = [line for line in lines if line["what"] in RIVALS]
    if not theirs:
        return "\n\n".join([*filter(None, parts), "SetFit was not measured: `--rival-python` is not set."]) + "\n"
    version = next((line["version"] for line in theirs if "version" in line), "")
    parts.append(
        f"SetFit {version}: its training pairs, built as by its trainer, with a limit of {args.rival_limit:g} GB."
    )
    parts.append(markdown(theirs, ["what", "rows", "status", "pairs", "start_mb", "peak_mb", "seconds"]))
    return "\n\n".join(filter(None, parts)) + "\n"


def growth(lines: Sequence[Line]) -> str:
    """The growth of the rest, and of each stage, from the smallest table to the largest."""
    if len(lines) < 2:
        return ""
    small, large = lines[0], lines[-1]
    stages = []
    for stage in STAGES:
        held = ("table_mb",) if stage in ("read", "load") else ("table_mb", "tokens_mb")
        bare = [line[f"{stage}_mb"] - sum(line[part] for part in held) for line in (small, large)]
        stages.append(f"{stage} {bare[1] - bare[0]:,}")
    return (
        f"**{small['what']}**: from {small['rows']:,} to {large['rows']:,} rows the rest grows by "
        f"{large['rest_mb'] - small['rest_mb']:,} MB; by stage: {', '.join(stages)}."
    )


def markdown(lines: Sequence[Line], columns: Sequence[str]) -> str:
    """A Markdown table; numbers have thousands separators."""
    shown = [[line.get(column, "") for column in columns] for line in lines]
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in shown]
    titles = [column.removesuffix("_mb") for column in columns]
    rule = "|".join("-" if column in ("what", "status") else "-:" for column in columns)
    return "\n".join([f"| {' | '.join(titles)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in cells)])


if __name__ == "__main__":
    main()
