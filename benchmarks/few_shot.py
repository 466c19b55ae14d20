"""Few rows per class: phasefit compared with its rivals on the same rows, encoder, seeds and threads.

    python benchmarks/few_shot.py --data snips2 --per-class 8 --seeds 1
    python benchmarks/few_shot.py --data trec-fine --per-class 16 --seeds 3 --full

Contestants run one after the other, offline, each in its own environment (created by `rivals/install.py`), without
validation rows. Every cell (contestant, budget, seed) is a line in `--out`, so a stopped benchmark can be resumed;
failed cells and cells whose budget has changed are run again. The seed determines the training rows and all later
random choices. At the end the script writes the table and the plot.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import few_shot_rows
from contest import environment, write_rows
from contestants import Contestant, chosen
from few_shot_table import table
from plots import accuracy_against_seconds

Cell: TypeAlias = dict[str, Any]

PLACE = ("data", "per_class", "test_rows", "threads", "contestant", "budget", "seed")
KEY = (*PLACE, "settings")  # a changed budget replaces its old result
FIELDS = (
    *("data", "per_class", "rows", "classes", "test_rows", "threads", "contestant", "budget", "seed", "status"),
    *("accuracy", "macro_f1", "fit_seconds", "fit_cpu_seconds", "load_seconds", "predict_seconds", "peak_mb"),
    *("settings", "versions"),
)
DONE = "done"


def main() -> None:
    """Run missing cells, then write the table."""
    args = parse()
    out = args.out / f"{args.name or f'few_shot-{args.data}-{args.per_class}'}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    contestants = chosen(args.contestants, full=args.full)
    dataset = few_shot_rows.read(args.data, args.data_dir)
    wanted: list[Cell] = []
    for seed in range(args.seeds):
        train, test = few_shot_rows.draw(dataset, args.per_class, args.test_rows, seed)
        for contestant, budget in contestants:
            cell = {
                **{"data": args.data, "per_class": args.per_class, "rows": len(train), "test_rows": len(test)},
                **{"classes": len(set(train.labels)), "threads": args.threads, "seed": seed},
                **{"contestant": contestant.name, "budget": budget, "settings": contestant.settings(budget)},
            }
            wanted.append(cell)
            is_done = any(same(old, cell) and old["status"] == DONE for old in read(out))
            if args.again or not is_done:
                print(f"{contestant.name}:{budget}, seed {seed} ...", end=" ", flush=True)
                new = cell | run(contestant, budget, train, test, seed, args)
                write(out, [*(old for old in read(out) if not same(old, cell, PLACE)), new])
                print(progress_text(new), flush=True)
    cells = [old for cell in wanted for old in read(out) if same(old, cell)]
    text = table(cells, command=command_line())
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    accuracy_against_seconds(cells, out.with_suffix(".png"))
    print(f"table: {shown(out.with_suffix('.md'))}, cells: {shown(out)}")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default="snips2", help="a dataset's name or a file")
    add("--name", help="name of the result files; default: few_shot-DATA-PER_CLASS")
    add("--per-class", type=int, default=8, help="training rows per class; all rows of smaller classes")
    add("--test-rows", type=int, help="number of test rows; default: all")
    add("--seeds", type=int, default=1, help="number of seeds, starting at 0")
    add("--contestants", help="comma-separated names, NAME:BUDGET for one budget; default: all")
    add("--full", action="store_true", help="all budgets and contestants, not only those of the quick benchmark")
    add("--again", action="store_true", help="also run finished cells again")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="CPU threads per contestant")
    add("--limit", type=float, default=7200, help="time limit of a contestant in seconds")
    add("--model", help="the folder of the encoder; default: the packaged model")
    add("--data-dir", type=Path, help="folder of the named datasets; default: PHASEFIT_DATA")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def run(
    contestant: Contestant,
    budget: str,
    train: few_shot_rows.Rows,
    test: few_shot_rows.Rows,
    seed: int,
    args: argparse.Namespace,
) -> Cell:
    """Run one contestant in its own interpreter; a failure is a result too."""
    if not contestant.python.exists():
        return {"status": f"failed: not installed; run python3 benchmarks/rivals/install.py {contestant.folder}"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "train.csv", train.texts, train.labels)
        write_rows(folder / "test.csv", test.texts, test.labels)
        command = [str(contestant.python), str(contestant.script), "train.csv", "test.csv", "--out", "result.json"]
        command += ["--model", args.model or default_model(), "--seed", str(seed), "--budget", budget]
        command += ["--threads", str(args.threads)]
        options: dict[str, Any] = {"cwd": folder, "env": own_environment(args.threads), "check": False}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit, **options)
        except subprocess.TimeoutExpired:
            return {"status": f"failed: stopped after {args.limit:.0f} s"}
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
            return {"status": f"failed: {lines[-1].strip()[:200]}"}
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if contestant.ours:
        result["versions"] = result["versions"].replace("phasefit ", f"phasefit{commit()} ", 1)
    return {"status": DONE, **result}


def own_environment(threads: int) -> dict[str, str]:
    """The environment of a contestant, which can import only its own packages."""
    shared = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return shared | environment(threads)


def default_model() -> str:
    """The folder of the packaged default model."""
    from phasefit.models.encoder.locate import packaged_default

    folder = packaged_default()
    if folder is None:
        raise SystemExit("the package of the default model is not installed; run make setup, or use --model FOLDER")
    return str(folder)


def commit() -> str:
    """The commit of phasefit, with `+` if the package has uncommitted changes; empty outside git."""
    root = Path(__file__).parents[1]
    commands = [["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain", "--", "src"]]
    try:
        head, changed = (
            subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
            for command in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"@{head}{'+' if changed else ''}"


# --- the files --------------------------------------------------------------------------------------------------------


def same(old: Cell, cell: Cell, by: Sequence[str] = KEY) -> bool:
    """Whether a line of the file is the result of this cell."""
    return all(str(old[name]) == str(cell[name]) for name in by)


def read(path: Path) -> list[Cell]:
    """The finished cells."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, cells: list[Cell]) -> None:
    """Write all cells atomically, so that a stopped benchmark leaves a complete file."""
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    part.replace(path)


def progress_text(cell: Cell) -> str:
    """A cell in one line, printed when it has finished."""
    if cell["status"] != DONE:
        return str(cell["status"])
    return f"accuracy {cell['accuracy']:.3f}, macro F1 {cell['macro_f1']:.3f} in {cell['fit_seconds']:.1f} s"


def command_line() -> str:
    """The command that made the table, without folders of this machine."""
    return " ".join(["python", "benchmarks/few_shot.py", *map(shown, sys.argv[1:])])


def shown(argument: str | Path) -> str:
    """A path relative to the repository."""
    path = Path(argument)
    root = Path(__file__).parents[1]
    if not path.is_absolute():
        return str(argument)
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name


if __name__ == "__main__":
    main()
