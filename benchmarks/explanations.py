"""Explanations: are the words of gradients and of occlusion better than random words, and which method is better?

    phasefit train snips2 --recipe few-shot --rows 64 -o /tmp/snips
    phasefit train sst5 --recipe few-shot --rows 200 --test-rows 200 --validation-rows 200 -o /tmp/sst5
    python benchmarks/explanations.py /tmp/snips /tmp/sst5

For each run, a sample of its test texts is explained with both methods. Two tests compare the words that a method finds
most important with random words of the same text. Deleting them should lower the probability of the predicted label
most. Keeping only them should lower it least. Occlusion ranks words by deleting them one by one, so the deletion of a
single word favours it by construction; keeping words does not. Results: `results/explanations.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
DRAWS = 10
PACKAGES = ("phasefit", "torch", "transformers", "captum")
COLUMNS = ("data", "method", "texts", "test", "words", "important", "random", "difference", "error", "ms per text")

Cell = dict[str, Any]


def main() -> None:
    """Explain the texts of each run, and write the files."""
    args = parse()
    import torch

    torch.set_num_threads(args.threads)
    cells = [cell for folder in args.runs for cell in of_run(folder, args.rows)]
    write(args, cells)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="finished runs with test rows")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def of_run(folder: Path, rows: int) -> list[Cell]:
    """Both methods on the same test texts of one run."""
    from phasefit.explain import explain_texts
    from phasefit.runs.rows_again import read_rows_again
    from phasefit.runs.run import Run

    run = Run.open(folder)
    model, prepared = run.predictor("cpu"), read_rows_again(run, lambda event: None)
    if prepared.test is None:
        raise SystemExit(f"{folder} has no test rows")
    test = prepared.test.take(np.random.default_rng(0).permutation(len(prepared.test))[:rows])
    name = f"{prepared.name}, {len(prepared.train):,} training rows"
    cells: list[Cell] = []
    explain_texts(model, test.inputs[:1])  # imports and first calls are not timed
    for method in ("gradients", "occlusion"):
        start = time.process_time()
        found = explain_texts(model, test.inputs, method=method)
        each = 1000 * (time.process_time() - start) / len(test)
        cells += tested(model, [one for one in found if len(one.read) > 1], name, method, each)
    return cells


def tested(model: Any, found: list[Any], name: str, method: str, each: float) -> list[Cell]:
    """Deleting and keeping the most important words: one word, and a fifth of a usual text."""
    from phasefit.explain.deletion import output_changes, usual_count

    fifth = max(2, usual_count(found))
    cells = []
    for test, count, keep in (("delete", 1, False), ("delete", fifth, False), ("keep", fifth, True)):
        changes = output_changes(model, found, count, draws=DRAWS, keep=keep)
        gains = changes[:, 0] - changes[:, 1:].mean(axis=1)
        error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
        figures = (float(changes[:, 0].mean()), float(changes[:, 1:].mean()), float(gains.mean()), error, each)
        cells.append(dict(zip(COLUMNS, (name, method, len(found), test, count, *figures), strict=True)))
    return cells


def write(args: argparse.Namespace, cells: list[Cell]) -> None:
    """Write the table as CSV and Markdown."""
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "explanations.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(cells)
    (args.out / "explanations.md").write_text(markdown(args, cells), encoding="utf-8")


def markdown(args: argparse.Namespace, cells: list[Cell]) -> str:
    """The table with its reading."""
    lines = [
        "# Words that matter: gradients and occlusion",
        "",
        "Loss of the probability of the predicted label when words are deleted (more is better), or when all others "
        f"are deleted (less is better); for important words and for random ones ({DRAWS} draws per text). ± is the "
        "standard error of the difference over the texts. CPU milliseconds per text, one thread. Deleting one word "
        "favours occlusion by construction: it ranks words by exactly that.",
        "",
        "| data | method | texts | test | words | important | random | difference | ms per text |",
        "|-|-|-:|-|-:|-:|-:|-:|-:|",
    ]
    lines += [
        f"| {cell['data']} | {cell['method']} | {cell['texts']} | {cell['test']} | {cell['words']} | "
        f"{cell['important']:.3f} | {cell['random']:.3f} | {cell['difference']:+.3f} ± {cell['error']:.3f} | "
        f"{cell['ms per text']:.0f} |"
        for cell in cells
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    command = f"python benchmarks/explanations.py {' '.join(run.name for run in args.runs)} --rows {args.rows}"
    lines += ["", f"`{command}`; {packages}; Python {platform.python_version()}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
