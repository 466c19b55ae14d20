"""Prediction: texts per second and latency, compared with sentence-transformers and a bare forward pass.

    python benchmarks/predict.py

One process, the packaged encoder, the same threads for all. Every round runs every contestant once, in rotating order.
Ratios are computed within a round, and their median over rounds is reported, because a shared machine changes its
speed. The texts are distinct texts of TREC, SST-2 and AG News in equal parts; the second table repeats some of them.
Results: `results/predict.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).parent
MIXTURE = ("trec", "sst2", "ag_news")
COPIES = 0.2  # share of repeated texts in the second table
CLASSES = 6
OURS, BARE = "phasefit", "bare forward pass"
PLAIN = {32: "SentenceTransformer.encode, batch 32", 64: "SentenceTransformer.encode, batch 64"}
PACKAGES = ("phasefit", "torch", "transformers", "sentence-transformers", "tokenizers", "numpy")

Contestants = dict[str, Callable[[], Any]]
Cell = dict[str, object]


def main() -> None:
    """Measure both tables, then single texts, and write the files."""
    args = parse()
    import torch
    from sentence_transformers import SentenceTransformer

    from phasefit.models.encoder.locate import DEFAULT_MODEL, locate
    from phasefit.models.heads import Head
    from phasefit.models.model import TASK
    from phasefit.models.storage import load_model

    torch.set_num_threads(args.threads)
    model = load_model(DEFAULT_MODEL, "cpu")
    model.heads[TASK] = Head("mlp", model.encoder.dimension, CLASSES).eval()
    plain = SentenceTransformer(locate(DEFAULT_MODEL), device="cpu")
    folder = args.data_dir or os.environ.get("PHASEFIT_DATA")
    if not folder:
        raise SystemExit("set --data-dir or PHASEFIT_DATA to the folder of the named datasets")
    texts = mixture(Path(folder), args.rows)
    some = texts[: round(len(texts) * (1 - COPIES))]
    repeated = some + some[: len(texts) - len(some)]
    np.random.default_rng(1).shuffle(repeated)
    apart = float(np.abs(model.embed(texts[:500]) - plain.encode(texts[:500])).max())
    cells: list[Cell] = []
    for what, table in (("distinct texts", texts), (f"{COPIES:.0%} copies", repeated)):
        cells += contest(what, len(table), rounds_of(many(model, plain, table), args.rounds))
    cells += contest("one text", 1, rounds_of(single(model, plain, texts[: args.singles]), args.rounds), args.singles)
    write(args, len(texts), apart, cells)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--singles", type=int, default=100, help="calls with one text per round")
    parser.add_argument("--data-dir", type=Path, help="folder of the datasets; default: PHASEFIT_DATA")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def mixture(folder: Path, rows: int) -> list[str]:
    """Distinct texts of several datasets, shuffled."""
    import pandas as pd

    random = np.random.default_rng(0)
    parts = []
    for name in MIXTURE:
        texts = pd.read_csv(folder / name / "train.csv.gz", dtype=str)["text"].dropna().unique()
        parts.append(random.permutation(texts))
    mixed: list[str] = []
    for left, part in zip(
        range(len(parts), 0, -1), sorted(parts, key=len), strict=True
    ):  # a small dataset contributes all its texts
        mixed += part[: -(-(rows - len(mixed)) // left)].tolist()
    mixed = list(dict.fromkeys(mixed))
    return [mixed[place] for place in random.permutation(len(mixed))]


def many(model: Any, plain: Any, texts: list[str]) -> Contestants:
    """Contestants that encode all texts; phasefit uses its default batch size."""
    ways: Contestants = {OURS: lambda: model.embed(texts)}
    for size, name in PLAIN.items():
        ways[name] = lambda size=size: plain.encode(texts, batch_size=size)  # type: ignore[misc]
    return ways


def single(model: Any, plain: Any, texts: list[str]) -> Contestants:
    """One text per call: phasefit returns probabilities, bare logits, sentence-transformers only a vector."""
    import torch

    tokenizer, transformer, head = plain.tokenizer, plain[0].auto_model, model.head()
    longest = plain.max_seq_length

    def bare() -> None:
        for text in texts:
            with torch.inference_mode():
                batch = tokenizer([text], truncation=True, max_length=longest, return_tensors="pt")
                states = transformer(**batch).last_hidden_state
                mask = batch["attention_mask"][..., None].to(states.dtype)
                head((states * mask).sum(1) / mask.sum(1))

    return {
        OURS: lambda: [model.predict_proba([text]) for text in texts],
        BARE: bare,
        "SentenceTransformer.encode": lambda: [plain.encode([text]) for text in texts],
    }


def rounds_of(ways: Contestants, rounds: int) -> dict[str, list[float]]:
    """Seconds of every contestant in every round; the order rotates."""
    names, seconds = list(ways), {name: [] for name in ways}  # type: list[str], dict[str, list[float]]
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.perf_counter()
            ways[name]()
            seconds[name].append(time.perf_counter() - start)
            print(f"round {number + 1}: {name}: {seconds[name][-1]:.2f} s", flush=True)
    return seconds


def contest(what: str, texts: int, seconds: dict[str, list[float]], calls: int = 1) -> list[Cell]:
    """For each contestant its time divided by ours, its throughput and its latency."""
    return [
        {
            "what": what,
            "contestant": name,
            "time_over_ours": round(median(t / own for t, own in zip(times, seconds[OURS], strict=True)), 3),
            "texts_per_second": round(texts * calls / median(times), 1),
            "milliseconds_per_call": round(1000 * median(times) / calls, 2),
            "rounds": len(times),
        }
        for name, times in seconds.items()
    ]


def write(args: argparse.Namespace, texts: int, apart: float, cells: list[Cell]) -> None:
    """Write the CSV file and the table."""
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "predict.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    used = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# Prediction",
        "",
        f"`python benchmarks/predict.py --rows {args.rows} --rounds {args.rounds} --threads {args.threads}`",
        "",
        f"Python {platform.python_version()}, {used}. {texts:,} texts of {', '.join(MIXTURE)}; {args.threads} threads; "
        f"medians of {args.rounds} rounds in one process. The ratio is the contestant's time divided by ours in "
        "the same round: above 1 we are faster. Bare is only the tokenizer, the Transformer, mean pooling and the "
        "head; ours also checks its input and computes probabilities; sentence-transformers returns only the vector. "
        f"Largest difference between our vectors and theirs: {apart:.0e}.",
        "",
        "| | contestant | time over ours | texts per second | ms per call |",
        "|-|-|-:|-:|-:|",
    ]
    lines += [
        f"| {cell['what']} | {cell['contestant']} | {cell['time_over_ours']:.2f} | {cell['texts_per_second']:,} | "
        f"{cell['milliseconds_per_call']:,} |"
        for cell in cells
    ]
    (args.out / "predict.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
