"""Do class names help contrast when rows are few? The same rows and seeds with and without them.

    python benchmarks/class_names.py

Each seed draws `--per-class` training rows of each class; all test rows of these classes are scored once. There are too
few rows for validation, so every run takes all steps. A head is then trained on the frozen encoder.
`contrast.class_texts` is `none`, `names` or, for `described`, a file in `class_texts/` with descriptions written for
this table. Every cell is a line in `--out`/class_names.csv, so a stopped study can be resumed. class_names.md shows
means, standard deviations, and the difference to `none`, paired over seeds, with its 95 % interval.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from summary import Cell, gain, spread

from recipes import read

HERE = Path(__file__).parent
CLASSES = {"trec-fine": 50, "empathetic-dialogues": 8, "snips2": 7}  # the N most frequent ones
DESCRIBED = {"trec-fine": "class_texts/trec-fine.csv"}  # relative to this folder
STEPS = ("contrast.min_steps=40", "contrast.max_steps=40", "finetune.min_steps=200", "finetune.max_steps=200")
SETTINGS = (*STEPS, "finetune.freeze=true")
KEYS = ["data", "classes", "per_class", "texts", "settings", "seed"]
FIELDS = [*KEYS, "rows", "accuracy", "macro_f1", "seconds"]
COLUMNS = ["data", "rows per class", "class texts", "accuracy", "difference", "macro F1", "difference", "seconds"]


def main() -> None:
    """Run missing cells, then write the summary."""
    args = parse()
    out = args.out / "class_names.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    done = read(out)
    wanted = cells(args)
    for cell in wanted:
        if not any(is_cell(row, cell) for row in done):
            done.append(run_cell(cell, args))
            write(out, done)
            print({name: done[-1][name] for name in FIELDS}, flush=True)
    table = summary([row for row in done if any(is_cell(row, cell) for cell in wanted)], args)
    out.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default=",".join(CLASSES), help="comma-separated names of datasets")
    add("--per-class", default="4,8,16", help="comma-separated numbers of rows per class")
    add("--texts", default="none,names,described", help="comma-separated: the class texts to compare")
    add("--seeds", type=int, default=2, help="number of seeds, starting at 0")
    add("--set", action="append", default=[], help="more settings of contrast-finetune, e.g. contrast.max_steps=30")
    add("--threads", type=int, default=1)
    add("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def cells(args: argparse.Namespace) -> list[Cell]:
    """All cells, seed by seed, so that a first table is available early."""
    settings = "+".join((*SETTINGS, *args.set))
    return [
        {
            "data": data,
            "classes": CLASSES[data],
            "per_class": per_class,
            "texts": texts,
            "settings": settings,
            "seed": seed,
        }
        for seed in range(args.seeds)
        for data in args.data.split(",")
        for per_class in map(int, args.per_class.split(","))
        for texts in variants(data)
        if texts in args.texts.split(",")
    ]


def variants(data: str) -> list[str]:
    """The class texts to compare on a dataset."""
    return ["none", "names", *(["described"] if data in DESCRIBED else [])]


def is_cell(row: Cell, cell: Cell) -> bool:
    """Whether a line of the file is the result of this cell."""
    return all(str(row[key]) == str(cell[key]) for key in KEYS)


def run_cell(cell: Cell, args: argparse.Namespace) -> Cell:
    """Train and test once."""
    from phasefit.prepare.prepare import prepare
    from phasefit.recipes import read_recipe
    from phasefit.recipes.settings import parse_settings
    from phasefit.runs.execution import fit_prepared
    from phasefit.runs.specification import run_spec

    train, test = few_rows(cell)
    file = str(HERE / DESCRIBED[cell["data"]]) if cell["texts"] == "described" else cell["texts"]
    request = run_spec(
        data=train,
        test=test,
        validation_size=0.0,
        recipe="contrast-finetune",
        settings=parse_settings(cell["settings"].split("+")) | {"contrast.class_texts": str(file)},
        seed=cell["seed"],
        threads=args.threads,
        device="cpu",
    )
    recipe = read_recipe(request.recipe.name, request.recipe.settings)
    metrics = fit_prepared(
        request, recipe, prepare(request.data, request.split, seed=request.seed), lambda event: None
    ).metrics
    scores = {score: round(metrics["test"][score], 5) for score in ("accuracy", "macro_f1")}
    seconds = round(sum(phase["seconds"] for phase in metrics["phases"]), 1)
    return {**cell, "rows": len(train[0]), **scores, "seconds": seconds}


def few_rows(cell: Cell) -> tuple[Any, Any]:
    """Texts and labels to train on, the same for all variants of a seed, and those to test on."""
    from phasefit.data.labels import label_space
    from phasefit.data.sources import read_dataset
    from phasefit.data.splits import few_shot

    dataset = read_dataset(cell["data"])
    kept = {label for label, _ in Counter(dataset.train.labels).most_common(cell["classes"])}
    train, test = (
        [(text, label) for text, label in zip(table.texts, table.labels, strict=True) if label in kept]
        for table in (dataset.train, dataset.test)
    )
    codes = label_space(list(kept)).encode([label for _, label in train])
    chosen = [train[row] for row in few_shot(codes, cell["per_class"], cell["seed"])]
    return tuple(zip(*chosen, strict=True)), tuple(zip(*test, strict=True))


def summary(rows: list[Cell], args: argparse.Namespace) -> str:
    """One line per dataset, number of rows and variant."""
    command = " ".join(["python benchmarks/class_names.py", *sys.argv[1:]])
    lines = [
        "# Class names with few rows",
        "",
        f"`{command}`",
        "",
        f"{args.seeds} seeds, each with its own rows; test accuracy and macro F1 in per cent, mean ± standard "
        "deviation.",
        "Difference: to the line without class texts, paired over seeds, with its 95 % interval.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|" + "-|" * len(COLUMNS),
    ]
    groups = [(data, count) for data in args.data.split(",") for count in args.per_class.split(",")]
    for data, count in groups:
        here = [row for row in rows if row["data"] == data and str(row["per_class"]) == count]
        here.sort(key=lambda row: int(row["seed"]))
        base = [row for row in here if row["texts"] == "none"]
        for texts in (some for some in variants(data) if some in args.texts.split(",")):
            variant = base if texts == "none" else [row for row in here if row["texts"] == texts]
            figures = [f"{spread(variant, score)} | {gain(variant, base, score)}" for score in ("accuracy", "macro_f1")]
            seconds = sum(float(row["seconds"]) for row in variant) / len(variant)
            lines.append(f"| {data} | {count} | {texts} | {' | '.join(figures)} | {seconds:.0f} |")
    return "\n".join(lines) + "\n"


def write(path: Path, rows: list[Cell]) -> None:
    """Write all cells."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
