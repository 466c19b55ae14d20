"""Auxiliary objectives compared with cross-entropy alone: equal steps, batches and heads, the same splits and seeds.

    python benchmarks/objectives.py

1,000 rows of TREC (coarse) and of CR. Every recipe trains a linear head with the same learning rates for the same
number of steps of 32 texts, without early stopping; the best evaluation is kept. The papers' batches of 64 would mean
half the steps per epoch, and their heads differ. `recipes.py` makes the splits and runs the cells; finished cells are
reused. Results: `results/objectives-*.{csv,md}`, and all tables together in `results/objectives.md`.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
SETS = {"trec": ["--rows", "1000"], "cr": ["--rows", "1000"]}
RECIPES = ("finetune", "supcon-finetune", "label-aware", "triple-entropy")
SAME = ("finetune.head=linear", "finetune.batch_size=32", "finetune.warmup=0.06", "finetune.patience=0")
STEPS = 100


def main() -> None:
    """Run missing cells of every dataset and recipe, then write the tables."""
    args = parse()
    settings = settings_of(args.steps)
    tables = []
    for data in args.data.split(","):
        name = f"objectives-{data}"
        recipes = ",".join(f"{recipe}:{settings}" for recipe in RECIPES)
        more = ["--name", name, "--recipes", recipes, "--seeds", str(args.seeds), "--jobs", str(args.jobs)]
        elsewhere = ["--out", str(args.out)] if args.out != HERE / "results" else []
        command = [sys.executable, str(HERE / "recipes.py"), data, *SETS[data], *more, *elsewhere]
        subprocess.run(command, check=True)
        with (args.out / f"{name}.csv").open(encoding="utf-8") as file:
            check_steps([row["steps"] for row in csv.DictReader(file) if row["settings"] == settings], args.steps)
        lines = (args.out / f"{name}.md").read_text(encoding="utf-8").splitlines()
        table = [line.replace(f":{settings}", "") for line in lines if line.startswith("|")]
        tables.append("\n".join([f"## {data} ({' '.join(SETS[data])})", "", *table]))
    text = "\n".join(head(args)) + "\n\n" + "\n\n".join(tables) + "\n"
    (args.out / "objectives.md").write_text(text, encoding="utf-8")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default=",".join(SETS), help=f"comma-separated, of: {', '.join(SETS)}")
    add("--seeds", type=int, default=2)
    add("--steps", type=int, default=STEPS, help="steps of every recipe")
    add("--jobs", type=int, default=2, help="cells to run in parallel, with one thread each")
    add("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def settings_of(steps: int) -> str:
    """What all recipes have in common, as `recipes.py` reads it."""
    return "+".join([*SAME, f"finetune.min_steps={steps}", f"finetune.max_steps={steps}"])


def check_steps(taken: Iterable[str], steps: int) -> None:
    """Stop if a cell took another number of steps: "finetune:75/100" is the best step and their number."""
    others = sorted({one for one in taken if one.rpartition("/")[2] != str(steps)})
    if others:
        raise SystemExit(
            f"these cells did not take {steps} steps: {', '.join(others)}; delete their lines and run again"
        )


def head(args: argparse.Namespace) -> list[str]:
    """The first lines of the page."""
    changed = [f" --{name} {value}" for name, value in (("seeds", args.seeds), ("steps", args.steps))]
    options = "".join(changed) if (args.seeds, args.steps) != (2, STEPS) else ""
    return [
        "# Auxiliary objectives",
        "",
        f"`python benchmarks/objectives.py{options}`",
        "",
        f"{args.seeds} seeds, one split per set; test accuracy and macro F1 in per cent, mean ± standard deviation;",
        "difference to plain fine-tuning, paired over seeds, with its 95 % interval. Every recipe takes",
        f"{args.steps} steps of 32 texts with a linear head. `label-aware` reads two views of each text.",
    ]


if __name__ == "__main__":
    main()
