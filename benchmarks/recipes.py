"""Compare recipes on the same rows, split and seeds: accuracy and macro F1 on the test rows.

    python benchmarks/recipes.py trec --rows 1000 --recipes finetune,three-phase,joint,contrast-finetune --seeds 3

Every cell (recipe, seed) is its own process and a line in `--out`/NAME.csv, so a stopped study can be resumed.
`--split-seed` determines the split; seeds change everything else. Validation selects the weights; the test rows are
scored once per cell. The summary, NAME.md, shows means, standard deviations, and the difference to the first recipe
with a paired 95 % interval over seeds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from summary import Cell, summary

FIELDS = [
    "data",
    "rows",
    "split_seed",
    "unseen",
    "recipe",
    "settings",
    "seed",
    "accuracy",
    "macro_f1",
    "val_accuracy",
    "val_macro_f1",
    "seconds",
    "steps",
]


def main() -> None:
    """Run missing cells, then write the summary."""
    args = parse()
    if args.cell:
        print(json.dumps(run_cell(args)))
        return
    out = args.out / f"{args.name or args.data}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    done = read(out)
    variants = args.recipes.split(",")
    cells = [(variant, seed) for seed in range(args.seeds) for variant in variants]
    missing = [cell for cell in cells if not any(is_cell(row, args, *cell) for row in done)]
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda cell: spawn(args, *cell), missing):
            done.append(row)
            write(out, done)
            print({name: row[name] for name in FIELDS}, flush=True)
    rows = [row for row in done if any(is_cell(row, args, *cell) for cell in cells)]
    command = f"python benchmarks/recipes.py {' '.join(sys.argv[1:])}"  # prefer PHASEFIT_DATA to --data-dir
    table = summary(rows, variants, title=f"Recipes on {args.name or args.data}", command=command)
    out.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("data", help="a dataset's name or a file")
    add("--name", help="name of the result files; default: the dataset's")
    add("--rows", type=int, help="training rows, including validation; default: all")
    add(
        "--recipes",
        default="finetune,three-phase,joint,contrast-finetune",
        help="comma-separated; settings after a colon, joined with +: finetune:finetune.lr=1e-5+finetune.epochs=3",
    )
    add("--classes", type=int, help="use only the N most frequent classes")
    add("--per-class", type=int, help="training rows per class, including validation")
    add("--validation-rows", type=int, help="at most N validation rows; default: all")
    add("--seeds", type=int, default=3, help="number of seeds, starting at 0")
    add("--split-seed", type=int, default=0)
    add("--unseen", default="error", help="rows with labels that only the test has: error, drop or keep")
    add("--threads", type=int, default=1, help="CPU threads per cell")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="cells to run in parallel")
    add("--data-dir", type=Path, help="folder of the named datasets; default: PHASEFIT_DATA")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    add("--cell", help=argparse.SUPPRESS)
    add("--seed", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def spawn(args: argparse.Namespace, variant: str, seed: int) -> Cell:
    """Run one cell in its own process."""
    command = [sys.executable, __file__, *sys.argv[1:], "--cell", variant, "--seed", str(seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{variant}, seed {seed} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run_cell(args: argparse.Namespace) -> dict[str, Any]:
    """Train and test one recipe with one seed on the common split."""
    from phasefit.prepare.prepare import prepare
    from phasefit.recipes import read_recipe
    from phasefit.recipes.settings import parse_settings
    from phasefit.runs.execution import fit_prepared
    from phasefit.runs.specification import run_spec

    recipe, _, settings = args.cell.partition(":")
    request = run_spec(
        data=source(args),
        rows=args.rows,
        recipe=recipe,
        settings=parse_settings(filter(None, settings.split("+"))),
        seed=args.split_seed,
        unseen=args.unseen,
        threads=args.threads,
        data_dir=args.data_dir,
        device="cpu",
    )
    prepared = limit_validation(prepare(request.data, request.split, seed=request.seed), args)
    chosen = read_recipe(recipe, request.recipe.settings)
    metrics = fit_prepared(request.replace(seed=args.seed), chosen, prepared, lambda event: None).metrics
    scores = {
        f"{prefix}{score}": round(metrics[part][score], 5)
        for part, prefix in (("test", ""), ("validation", "val_"))
        for score in ("accuracy", "macro_f1")
    }
    return {
        "data": args.data,
        "rows": rows_of(args),
        "split_seed": args.split_seed,
        "unseen": args.unseen,
        "recipe": recipe,
        "settings": settings,
        "seed": args.seed,
        **scores,
        "seconds": round(sum(phase["seconds"] for phase in metrics["phases"]), 1),
        "steps": " ".join(f"{phase['name']}:{phase['best_step']}/{phase['steps']}" for phase in metrics["phases"]),
    }


def source(args: argparse.Namespace) -> Any:
    """The dataset by name, or the rows that --classes and --per-class select."""
    if not args.classes and not args.per_class:
        return args.data
    from phasefit.data.sources import read_dataset
    from phasefit.seeds import generator

    dataset = read_dataset(args.data, data_dir=args.data_dir)
    kept = {label for label, _ in Counter(dataset.train.labels or ()).most_common(args.classes)}
    parts = {}
    for part in ("train", "validation", "test"):
        table = getattr(dataset, part)
        if table is None:
            continue
        order = generator(args.split_seed, "benchmark", part).permutation(len(table)).tolist()
        taken: Counter[Any] = Counter()
        rows = []
        for row in order:
            label = table.labels[row]
            if label in kept and (part != "train" or not args.per_class or taken[label] < args.per_class):
                taken[label] += 1
                rows.append(row)
        parts[part] = ([table.texts[row] for row in rows], [table.labels[row] for row in rows])
    return parts


def limit_validation(prepared: Any, args: argparse.Namespace) -> Any:
    """The same tables with at most --validation-rows validation rows."""
    table, most = prepared.validation, args.validation_rows
    if table is None or not most or len(table) <= most:
        return prepared
    from phasefit.seeds import generator

    rows = generator(args.split_seed, "benchmark", "validation").permutation(len(table))[:most]
    return replace(prepared, validation=table.take(rows))


def rows_of(args: argparse.Namespace) -> str:
    """The part of the dataset that is used, as text for the CSV file."""
    rows = str(args.rows or "all")
    if args.classes or args.per_class:
        rows = f"{args.classes or 'all'} classes x {args.per_class or 'all'}"
    return f"{rows} ({args.validation_rows} validate)" if args.validation_rows else rows


def is_cell(row: Cell, args: argparse.Namespace, variant: str, seed: int) -> bool:
    """Whether a line of the file is the result of this cell."""
    recipe, _, settings = variant.partition(":")
    wanted = (args.data, rows_of(args), args.split_seed, args.unseen, recipe, settings, seed)
    values = tuple(row[name] for name in ("data", "rows", "split_seed", "unseen", "recipe", "settings", "seed"))
    return tuple(map(str, values)) == tuple(map(str, wanted))


def read(path: Path) -> list[Cell]:
    """The finished cells."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[Cell]) -> None:
    """Write all cells."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
