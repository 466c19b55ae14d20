"""Answers from small tables: similarity scores of 250 pairs (STS-B), and several labels from 700 texts (GoEmotions).

    python benchmarks/small_tables.py

Each run is a `phasefit train` in its own process, with one thread; finished runs in --runs are not repeated. The rows
are added to `results/small_tables.csv` under the name --name, so that two versions can be compared: install the other
one, or set PYTHONPATH, and pass `--name before`. Results: `results/small_tables.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
PAIRS = "stsb --rows 250 --test-rows 200 --recipe finetune --set finetune.pair=cosine"
STILL = "--set finetune.max_steps=1 --set finetune.lr=1e-12 --set finetune.lrs.head=1e-12"
LABELS = "goemotions --rows 700 --validation-rows 105 --test-rows 1000 --recipe finetune --unseen drop"
CASES: dict[str, str] = {
    "similarity, trained": PAIRS,
    "similarity, untrained encoder with a line": f"{PAIRS} {STILL}",
    "several labels": f"{LABELS} --set finetune.max_steps=40",
}
FIGURES = {
    "similarity": ("pearson", "r2", "lowest", "highest"),
    "several labels": ("micro_f1", "macro_f1", "labels_per_text"),
}


def main() -> None:
    """Train every case with every seed, then write the table."""
    args = parse()
    rows = []
    for case in CASES:
        if args.name == "before" and "line" in case:
            continue  # the head of earlier versions was not fitted
        for seed in range(args.seeds):
            rows += figures(args, case, trained(args, case, seed), seed)
            print(rows[-1], flush=True)
    write(args, rows)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--name", default="after", help="what the rows are called in the table")
    parser.add_argument("--runs", type=Path, default=Path("small_tables_runs"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def trained(args: argparse.Namespace, case: str, seed: int) -> Path:
    """The folder of a run."""
    folder = args.runs / args.name / f"{'-'.join(case.replace(',', '').split())}-{seed}"
    if not (folder / "metrics.json").is_file():
        options = ["--seed", str(seed), "--threads", "1", "--quiet", "--overwrite", "-o", str(folder)]
        subprocess.run([sys.executable, "-m", "phasefit", "train", *CASES[case].split(), *options], check=True)
    return folder


def figures(args: argparse.Namespace, case: str, folder: Path, seed: int) -> list[dict[str, Any]]:
    """The figures of the test rows of a run, and its training time."""
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    test = metrics["test"]
    if "points" in test:
        predicted = [point[1] for point in test["points"]]
        test |= {"lowest": min(predicted), "highest": max(predicted)}
    wanted = next(names for kind, names in FIGURES.items() if case.startswith(kind))
    found = {name: test[name] for name in wanted} | {"steps": metrics["phases"][0]["steps"]}
    common = {"version": args.name, "case": case, "seed": seed}
    return [{**common, "figure": name, "value": round(value, 5)} for name, value in found.items()]


def write(args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Replace the rows of this version in the CSV file, and write the table of all versions."""
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "small_tables.csv"
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["version"] != args.name] + rows
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["version", "case", "seed", "figure", "value"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [
        "# Answers from small tables",
        "",
        "`python benchmarks/small_tables.py` (`--name before` with the version before)",
        "",
        *(f"- {case}: `phasefit train {command} --threads 1`" for case, command in CASES.items()),
        "",
        f"Test rows; mean of {args.seeds} seeds, and each seed in brackets.",
    ]
    for kind, names in FIGURES.items():
        cases = [case for case in CASES if case.startswith(kind)]
        lines += ["", f"| {kind} | version | {' | '.join((*names, 'steps'))} |", "|-|-|" + "-:|" * (len(names) + 1)]
        for case in cases:
            for version in dict.fromkeys(row["version"] for row in rows):
                cells = [cell(rows, case, version, name) for name in (*names, "steps")]
                if any(cells):
                    lines.append(f"| {case} | {version} | {' | '.join(cells)} |")
    (args.out / "small_tables.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def cell(rows: list[dict[str, Any]], case: str, version: str, figure: str) -> str:
    """The mean and the values of a figure; empty if it was not measured."""
    which = {"case": case, "version": version, "figure": figure}
    values = [float(row["value"]) for row in rows if all(row[key] == value for key, value in which.items())]
    digits = 0 if figure == "steps" else 3
    each = ", ".join(f"{value:.{digits}f}" for value in values)
    return f"{mean(values):.{digits}f} ({each})" if values else ""


if __name__ == "__main__":
    main()
