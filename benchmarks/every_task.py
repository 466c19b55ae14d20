"""Every kind of task on real data: compare the options of each. Times are not measured; cells share the machine.

    python benchmarks/every_task.py --seeds 2                    # all studies
    python benchmarks/every_task.py multitask trec --seeds 2    # some of them

Every cell (variant, seed) is one `phasefit train` (or several) and a line in `--out`/every-task.csv, so a stopped study
can be resumed. Seeds also change the sample of rows. The summary, every-task.md, shows means over seeds and, in
brackets, the lowest and the highest value. Without `upper_levels`, fine-tuning treats a tree exactly like flat classes;
the contrast phase does use how far two paths agree.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELDS = ["study", "variant", "seed", "command", "scores"]


@dataclass(frozen=True)
class Study:
    """Variants of one question: the commands of each (several runs may form one variant), and the scores to show."""

    title: str
    scores: tuple[str, ...]  # paths into metrics.json: "test.accuracy"
    variants: dict[str, tuple[str, ...]]


TASK_ROWS = "--rows 500 --validation-rows 500 --test-rows 20 --test-size 0"


def _single(data: str, watch: str) -> str:
    options = f"{TASK_ROWS} --set finetune.watch={watch}"
    return f"{data} -r finetune {options} --set finetune.epochs=2 --set finetune.slack=0"


def _tasks(recipe: str, *settings: str) -> tuple[str, ...]:
    changed = " ".join(f"--set {setting}" for setting in ("multitask.epochs=2", *settings))
    return (f"cs224n -r {recipe} {TASK_ROWS} {changed}",)


SINGLE = (
    _single("cs224n-sst", "accuracy"),
    _single("cs224n-quora", "accuracy"),
    _single("cs224n-sts", "pearson"),
)
EVEN = "proportional, which is uniform and temperature too where tasks have as many rows"
SHORT = "--set finetune.epochs=4"
STUDIES = {
    "multitask": Study(
        "cs224n: 500 rows of each task, 500 validation rows of each, 2 epochs; scores on these validation rows",
        ("sst", "quora", "sts", "mean"),
        {
            "three single-task models": SINGLE,
            "sequential (sst, quora, sts)": _tasks("multitask", "multitask.mix=sequential"),
            "round_robin": _tasks("multitask", "multitask.mix=round_robin"),
            EVEN: _tasks("multitask"),
            "mixed": _tasks("multitask", "multitask.mix=mixed"),
            "proportional, SimCSE on 500 NLI triples before": _tasks("multitask-simcse"),
        },
    ),
    "goemotions": Study(
        "GoEmotions: 2,000 rows, 500 validation rows, 2,000 test rows, 4 epochs",
        ("test.micro_f1", "test.macro_f1", "test.ece_uncalibrated", "test.ece"),
        {
            "finetune": (f"goemotions -r finetune --rows 2000 --validation-rows 500 --test-rows 2000 {SHORT}",),
            "finetune, balanced": (
                f"goemotions -r finetune --rows 2000 --validation-rows 500 --test-rows 2000 {SHORT} "
                "--set finetune.class_weights=balanced",
            ),
        },
    ),
    "trec": Study(
        "TREC: 1,000 rows, the whole test, 4 epochs of fine-tuning; level 1 has 6 classes, the last 47",
        ("test.accuracy", "test.levels.0.accuracy", "test.hierarchical_f1", "test.macro_f1"),
        {
            name: (f"{data} --rows 1000 {SHORT} --unseen drop {more}".rstrip(),)
            for name, data, more in (
                ("tree", "trec-tree -r finetune", ""),
                ("flat", "trec-fine -r finetune", ""),
                ("tree, upper_levels = 0.5", "trec-tree -r finetune", "--set finetune.upper_levels=0.5"),
                ("tree, contrast before", "trec-tree -r contrast-finetune", ""),
                ("flat, contrast before", "trec-fine -r contrast-finetune", ""),
            )
        },
    ),
    "newsgroups": Study(
        "20 newsgroups: 1,000 rows, 500 test rows, texts cut at 64 tokens, 3 epochs",
        ("test.accuracy", "test.levels.0.accuracy", "test.hierarchical_f1", "test.macro_f1"),
        {
            name: (
                f"{data} -r finetune --rows 1000 --test-rows 500 --set max_length=64 --set finetune.epochs=3 {more}",
            )
            for name, data, more in (
                ("tree", "newsgroups-tree", ""),
                ("flat", "newsgroups", ""),
                ("tree, upper_levels = 0.5", "newsgroups-tree", "--set finetune.upper_levels=0.5"),
            )
        },
    ),
    "mrpc": Study(
        "MRPC: 800 rows, 600 test rows, 3 epochs; F1 of paraphrases",
        ("test.accuracy", "test.per_class.paraphrase.f1", "test.macro_f1", "test.ece_uncalibrated", "test.ece"),
        {
            pair: (f"mrpc -r finetune --rows 800 --test-rows 600 --set finetune.epochs=3 --set finetune.pair={pair}",)
            for pair in ("uv_diff_prod", "cosine", "together")
        },
    ),
    "atis": Study(
        "ATIS: 1,500 rows, the whole test, 4 epochs",
        ("test.macro_f1", "test.accuracy", "test.ece_uncalibrated", "test.ece"),
        {
            name: (f"atis -r finetune --rows 1500 --set finetune.epochs=4 --unseen drop {more}",)
            for name, more in (
                ("plain", ""),
                ("class_weights = balanced", "--set finetune.class_weights=balanced"),
                ("focal = 2", "--set finetune.focal=2"),
                ("both", "--set finetune.class_weights=balanced --set finetune.focal=2"),
            )
        },
    ),
    "imdb": Study(
        "IMDB: 600 rows, 300 test rows, windows of 64 tokens, a head on the frozen encoder",
        ("test.accuracy", "test.macro_f1", "test.ece_uncalibrated", "test.ece"),
        {
            way: (
                "imdb -r finetune --rows 600 --test-rows 300 --set max_length=64 --set finetune.freeze=true "
                f"--long {way}",
            )
            for way in ("truncate", "head-tail", "windows")
        },
    ),
}


def main() -> None:
    """Run missing cells, then write the summary."""
    args = parse()
    out = args.out / "every-task.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    done = read(out)
    cells = [
        (study, variant, seed)
        for seed in range(args.seeds)
        for study in args.studies
        for variant in STUDIES[study].variants
    ]
    known = {(row["study"], row["variant"], int(row["seed"])) for row in done}
    missing = [cell for cell in cells if cell not in known]
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda cell: run(*cell, args.threads), missing):
            done.append(row)
            write(out, done)
            print(row["study"], row["variant"], row["seed"], row["scores"], flush=True)
    command = f"python benchmarks/every_task.py --seeds {args.seeds}"
    out.with_suffix(".md").write_text(summary(done, command), encoding="utf-8")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("studies", nargs="*", default=list(STUDIES), help=f"any of {', '.join(STUDIES)}; default: all")
    add("--seeds", type=int, default=2, help="number of seeds, starting at 0")
    add("--threads", type=int, default=1, help="CPU threads per cell")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="cells to run in parallel")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def run(study: str, variant: str, seed: int, threads: int) -> dict[str, str]:
    """Run one cell; each of its trainings has its own process."""
    commands = STUDIES[study].variants[variant]
    metrics = [train(command, seed, threads) for command in commands]
    scores = multitask_scores(metrics) if study == "multitask" else metrics[0]
    shown = {name: value for name in STUDIES[study].scores if (value := at(scores, name)) is not None}
    return {
        "study": study,
        "variant": variant,
        "seed": str(seed),
        "command": " ; ".join(f"phasefit train {command} --seed {seed}" for command in commands),
        "scores": json.dumps({name: round(float(value), 5) for name, value in shown.items()}),
    }


def train(command: str, seed: int, threads: int) -> dict[str, Any]:
    """The metrics of one training; the run folder is discarded."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as folder:
        where = ["-o", str(Path(folder) / "run"), "--seed", str(seed), "--threads", str(threads), "--quiet", "--json"]
        start = [sys.executable, "-m", "phasefit", "train"]
        done = subprocess.run(
            [*start, *command.split(), *where], capture_output=True, text=True, env=environment, check=False
        )
    if done.returncode:
        raise SystemExit(f"phasefit train {command} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def multitask_scores(metrics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """SST and Quora accuracy, STS Pearson and their mean, of one model with three tasks or three models with one."""
    if len(metrics) > 1:
        tasks = dict(zip(("sst", "quora", "sts"), (one["validation"] for one in metrics), strict=True))
    else:
        tasks = metrics[0]["validation"]["tasks"]
    scores = {"sst": tasks["sst"]["accuracy"], "quora": tasks["quora"]["accuracy"], "sts": tasks["sts"]["pearson"]}
    return {**scores, "mean": sum(scores.values()) / 3}


def at(metrics: Any, path: str) -> Any:
    """The value at a path such as test.levels.0.accuracy, or None."""
    for part in path.split("."):
        if isinstance(metrics, list):
            metrics = metrics[int(part)] if int(part) < len(metrics) else None
        else:
            metrics = metrics.get(part) if isinstance(metrics, dict) else None
    return metrics


def summary(rows: Iterable[dict[str, str]], command: str) -> str:
    """One table per study: variants in rows, scores in columns; means over seeds with the lowest and highest."""
    lines = [
        "# Every kind of task",
        "",
        f"    {command}",
        "",
        "Means over seeds; in brackets the lowest and the highest value.",
    ]
    done = list(rows)
    for name, study in STUDIES.items():
        own = [row for row in done if row["study"] == name]
        if not own:
            continue
        titles = [
            score.removeprefix("test.").replace("levels.0.", "level 1 ").replace("per_class.", "").replace("_", " ")
            for score in study.scores
        ]
        lines += ["", f"## {study.title}", "", f"| | seeds | {' | '.join(titles)} |", f"|-|-|{'-|' * len(titles)}"]
        for variant in study.variants:
            results = [json.loads(row["scores"]) for row in own if row["variant"] == variant]
            if results:
                cells = " | ".join(cell([one[score] for one in results if score in one]) for score in study.scores)
                lines.append(f"| {variant} | {len(results)} | {cells} |")
    return "\n".join(lines) + "\n"


def cell(values: Sequence[float]) -> str:
    """The mean, with the lowest and the highest value."""
    if not values:
        return ""
    mean = sum(values) / len(values)
    return f"{mean:.3f}" + (f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else "")


def read(path: Path) -> list[dict[str, str]]:
    """The finished cells."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write all cells."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
