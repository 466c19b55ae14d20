"""Auxiliary objectives and three-phase compared with fine-tuning: few rows, three epochs, the same splits and seeds.

    python benchmarks/objectives.py

500 rows of TREC (coarse), 250 of SST-5 and CR, and 30 of each of the eight most frequent classes of
EmpatheticDialogues, with at most 200 validation rows. `recipes.py` makes the splits and runs the cells. Results:
`results/objectives-*.{csv,md}`, and all tables together in `results/objectives.md`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SETS = {
    "trec": ["--rows", "500"],
    "sst5": ["--rows", "250", "--validation-rows", "200"],
    "cr": ["--rows", "250"],
    "empathetic-dialogues": ["--classes", "8", "--per-class", "30", "--validation-rows", "200"],
}
RECIPES = ("finetune", "supcon-finetune", "label-aware", "triple-entropy", "three-phase")


def main() -> None:
    """Run missing cells of every dataset and recipe, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3, help="epochs of fine-tuning")
    parser.add_argument("--jobs", type=int, default=2, help="cells to run in parallel, with one thread each")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    args = parser.parse_args()
    recipes = ",".join(f"{recipe}:finetune.epochs={args.epochs}" for recipe in RECIPES)
    tables = []
    for data, cut in SETS.items():
        name = f"objectives-{data}"
        more = ["--name", name, "--recipes", recipes, "--seeds", str(args.seeds), "--jobs", str(args.jobs)]
        command = [sys.executable, str(HERE / "recipes.py"), data, *cut, *more, "--out", str(args.out)]
        subprocess.run(command, check=True)
        lines = (args.out / f"{name}.md").read_text(encoding="utf-8").splitlines()
        table = [line.replace(f":finetune.epochs={args.epochs}", "") for line in lines if line.startswith("|")]
        tables.append("\n".join([f"## {data} ({' '.join(cut)})", "", *table]))
    options = f" --seeds {args.seeds} --epochs {args.epochs}" if (args.seeds, args.epochs) != (2, 3) else ""
    head = [
        "# Auxiliary objectives",
        "",
        f"`python benchmarks/objectives.py{options}`",
        "",
        f"{args.seeds} seeds, one split per set; test accuracy and macro F1 in per cent, mean ± standard deviation;",
        f"difference to plain fine-tuning, paired over seeds, with its 95 % interval. {args.epochs} epochs.",
    ]
    (args.out / "objectives.md").write_text("\n".join(head) + "\n\n" + "\n\n".join(tables) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
