"""Whether packing could pay in the runtime: how many cells of a batch are padding, and what sorting by length brings.

    python benchmarks/runtime_packing.py EXPORT [EXPORT ...] [--texts 1000] [--rounds 3]

The texts are the mixture of `deploy.py`. Packing several texts into one row could at most save the cells that are
padding; sorting is measured in CPU seconds of one thread, in turns with batches in the order of the texts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from predict import mixture

import phasefit_runtime
import phasefit_runtime.model as runtime_model
from phasefit_runtime.batches import batches


def in_order(
    widths: np.ndarray, windows: np.ndarray, each: int, most_rows: int, most_tokens: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Batches of 32 texts in the order of the texts."""
    for start in range(0, len(widths), most_rows):
        yield np.arange(start, min(start + most_rows, len(widths))), 1


def padding(widths: np.ndarray, how: Any) -> float:
    """The share of cells that are padding."""
    cells = sum(len(rows) * int(widths[rows].max()) for rows, _ in how(widths, np.ones_like(widths), 1, 32, 1024))
    return 1 - float(widths.sum()) / cells


def seconds(model: Any, texts: list[str], how: Any) -> float:
    """CPU seconds to embed the texts with these batches."""
    runtime_model.batches = how  # type: ignore[attr-defined]
    start = time.process_time()
    model.embed(texts)
    return time.process_time() - start


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exports", nargs="+")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    texts = mixture(Path(os.environ["PHASEFIT_DATA"]), args.texts)
    print("| export | padding, in order | padding, sorted | speed of sorting |\n|-|-|-|-|")
    for folder in args.exports:
        model = phasefit_runtime.load(folder, threads=1)
        widths = np.array(model.token_counts(texts))
        ratios = []
        for _ in range(args.rounds):
            first, second = (seconds(model, texts, how) for how in (in_order, batches))
            ratios.append(first / second)
        shares = [f"{100 * padding(widths, how):.1f} %" for how in (in_order, batches)]
        print(f"| {Path(folder).name} | {shares[0]} | {shares[1]} | {median(ratios):.2f} |", flush=True)


if __name__ == "__main__":
    main()
