"""Recipes side by side: the same rows, the same split, the same seeds; accuracy and macro F1 on test.

    python benchmarks/recipes.py trec --rows 1000 --recipes finetune,three-phase,joint,contrast-finetune --seeds 3

Every cell (recipe, seed) is a process of its own and a line in `--out`/NAME.csv, so a study that was stopped goes on
where it was. The split is drawn once, from --split-seed; seeds change everything else. Validation picks the weights,
test is scored once per cell. The summary (Markdown) shows means, standard deviations, and the difference to the first
recipe with a paired 95 % interval over seeds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean, stdev
from typing import Any

FIELDS = ["data", "rows", "recipe", "settings", "seed", "accuracy", "macro_f1", "val_accuracy", "val_macro_f1", "seconds", "steps"]
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def main() -> None:
    """Run what is missing, then write the summary."""
    args = parse()
    if args.cell:
        print(json.dumps(run_cell(args)))
        return
    out = args.out / f"{args.name or args.data}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    done = read(out)
    cells = [(variant, seed) for seed in range(args.seeds) for variant in args.recipes.split(",")]
    missing = [cell for cell in cells if not any(is_cell(row, args, *cell) for row in done)]
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda cell: spawn(args, *cell), missing):
            done.append(row)
            write(out, done)
            print(f"{row['recipe']:40} {row['settings']:30} seed {row['seed']}: accuracy {float(row['accuracy']):.4f}  "
                  f"macro F1 {float(row['macro_f1']):.4f}  {float(row['seconds']):.0f} s", flush=True)
    rows = [row for row in done if any(is_cell(row, args, *cell) for cell in cells)]
    table = summary(rows, args)
    out.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--name", help="name of the result files; the dataset's by default")
    parser.add_argument("--rows", type=int, help="training rows, validation included; all by default")
    parser.add_argument("--recipes", default="finetune,three-phase,joint,contrast-finetune",
                        help="comma-separated; settings after a colon, joined with +: contrast-finetune:contrast.lr=1e-5")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--split-seed", type=int, default=0)
    parser.add_argument("--unseen", default="error", help="labels only the test rows have: error, drop or keep")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cells at the same time")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def spawn(args: argparse.Namespace, variant: str, seed: int) -> dict[str, Any]:
    """One cell in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--cell", variant, "--seed", str(seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{variant}, seed {seed} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run_cell(args: argparse.Namespace) -> dict[str, Any]:
    """Train and test one recipe with one seed on the split that all share."""
    from phasefit.runner.fit_request import fit_prepared
    from phasefit.runner.prepare import prepare
    from phasefit.runner.request import TrainRequest
    from phasefit.recipes import read_recipe

    recipe, _, settings = args.cell.partition(":")
    request = TrainRequest(
        data=args.data, rows=args.rows, recipe=recipe, settings=tuple(filter(None, settings.split("+"))),
        seed=args.split_seed, unseen=args.unseen, threads=args.threads, data_dir=args.data_dir, device="cpu",
    )
    prepared = prepare(request)
    seeded = TrainRequest(**{**vars(request), "seed": args.seed})
    result = fit_prepared(seeded, read_recipe(recipe, request.settings), prepared, lambda event: None)
    test, validation, phases = (result.metrics[part] for part in ("test", "validation", "phases"))
    return {
        "data": args.data, "rows": args.rows or len(prepared.train) + len(prepared.validation or ()), "recipe": recipe,
        "settings": settings, "seed": args.seed, "accuracy": round(test["accuracy"], 5), "macro_f1": round(test["macro_f1"], 5),
        "val_accuracy": round(validation["accuracy"], 5), "val_macro_f1": round(validation["macro_f1"], 5),
        "seconds": round(sum(phase["seconds"] for phase in phases), 1),
        "steps": " ".join(f"{phase['name']}:{phase['best_step']}/{phase['steps']}" for phase in phases),
    }


def is_cell(row: dict[str, Any], args: argparse.Namespace, variant: str, seed: int) -> bool:
    """Whether a line of the file is this cell."""
    recipe, _, settings = variant.partition(":")
    same_rows = args.rows is None or int(row["rows"]) == args.rows
    return same_rows and (row["recipe"], row["settings"], int(row["seed"])) == (recipe, settings, seed)


def read(path: Path) -> list[dict[str, Any]]:
    """The cells that are done."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """All cells."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def summary(rows: list[dict[str, Any]], args: argparse.Namespace) -> str:
    """The Markdown table."""
    variants = args.recipes.split(",")
    groups = {v: sorted((r for r in rows if f"{r['recipe']}:{r['settings']}".rstrip(":") == v), key=lambda r: int(r["seed"])) for v in variants}
    shown = [f"python benchmarks/recipes.py {' '.join(sys.argv[1:])}"]
    lines = ["# Recipes on " + (args.name or args.data), "", f"`{shown[0]}`", "",
             f"{len(groups[variants[0]])} seeds, one split; test accuracy and macro F1 in per cent, mean ± standard deviation. "
             f"Difference: to the first line, paired over seeds, with its 95 % interval.", "",
             "| recipe | accuracy | difference | macro F1 | difference | validation macro F1 | seconds |", "|-|-|-|-|-|-|-|"]
    base = groups[variants[0]]
    for variant, cells in groups.items():
        columns = [spread(cells, "accuracy"), gain(cells, base, "accuracy"), spread(cells, "macro_f1"), gain(cells, base, "macro_f1"),
                   spread(cells, "val_macro_f1"), f"{mean(float(cell['seconds']) for cell in cells):.0f}"]
        lines.append(f"| {variant} | " + " | ".join(columns) + " |")
    return "\n".join(lines) + "\n"


def spread(cells: list[dict[str, Any]], key: str) -> str:
    """Mean and standard deviation in per cent."""
    values = [100 * float(cell[key]) for cell in cells]
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def gain(cells: list[dict[str, Any]], base: list[dict[str, Any]], key: str) -> str:
    """Paired difference with its interval."""
    if cells is base:
        return ""
    values = [100 * (float(cell[key]) - float(other[key])) for cell, other in zip(cells, base, strict=True)]
    half = T95[len(values) - 1] * stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{mean(values):+.2f} [{mean(values) - half:+.2f}, {mean(values) + half:+.2f}]"


if __name__ == "__main__":
    main()
