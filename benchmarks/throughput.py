"""Texts and tokens per second of each phase, compared with sentence-transformers where it has an equivalent.

    python benchmarks/throughput.py --data trec

Runs some steps of each phase of `three-phase` and of `contrast` in `few-shot` with the training loop, predicts the same
rows, and reports medians; in the same process also `DenoisingAutoEncoderLoss` and `SentenceTransformer.encode`.
`plots.py` draws the results.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from denoise import rival_steps
from one_phase import make_phase, rows_of, step_seconds, write_lines

OURS, THEIRS, WARM = "phasefit", "sentence-transformers", 2
FEW_SHOT = {"per_class": 2, "encoder_dropout": 0.0, "freeze_words": True, "balance.mode": "none"}
PHASES: dict[str, tuple[str, dict[str, Any]]] = {
    "denoise": ("denoise", {}),
    "contrast": ("contrast", {"balance.mode": "none"}),
    "contrast, few-shot": ("contrast", FEW_SHOT),
    "finetune": ("finetune", {}),
}


def main() -> None:
    """Measure, then write the files."""
    args = parse()
    import torch

    if args.threads:
        torch.set_num_threads(args.threads)
    texts, labels = rows_of(args.data, args.rows)
    lines, length = [], 0.0
    for name, (kind, settings) in PHASES.items():
        sized = {"batch_size": args.batch, "epochs": 1000, "max_steps": args.steps}
        model, phase = make_phase(kind, texts, labels, settings=sized | settings)
        length = float(phase.data.tokens.lengths.mean())
        lines.append(line(name, OURS, args.batch / statistics.median(step_seconds(phase)[WARM:]), length))
        if kind == "denoise":
            theirs, rival = rival_steps(texts, 0, args)
            lines.append(line(name, THEIRS, args.batch / statistics.median(theirs[WARM:]), length))
    encode: dict[str, Callable[[list[str]], Any]] = {OURS: model.embed, THEIRS: rival.encode}
    for what, run in encode.items():
        lines.append(line("predict", what, len(texts) / statistics.median(timed(run, texts) for _ in range(3)), length))
    write_lines(args.out / "throughput.csv", lines)
    text = summary(lines, args.data)
    (args.out / "throughput.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default="trec", help="a named dataset")
    add("--rows", type=int, default=2000)
    add("--steps", type=int, default=12, help="steps per phase; the first two are not counted")
    add("--batch", type=int, default=32)
    add("--ratio", type=float, default=0.6, help="probability that a word is deleted")
    add("--threads", type=int, help="default: all cores")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def timed(run: Callable[[list[str]], Any], texts: list[str]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run(texts)
    return time.perf_counter() - start


def line(phase: str, what: str, texts_per_second: float, length: float) -> dict[str, Any]:
    """One line; tokens are those of the original texts, without padding and noise."""
    return {
        "phase": phase,
        "what": what,
        "texts_per_second": round(texts_per_second, 1),
        "tokens_per_second": round(texts_per_second * length, 1),
    }


def summary(lines: list[dict[str, Any]], data: str) -> str:
    """The Markdown table."""
    import sentence_transformers
    import torch

    head = [
        f"# Throughput of each phase on {data}",
        f"`{' '.join(['python', 'benchmarks/throughput.py', *sys.argv[1:]])}`",
        f"{torch.get_num_threads()} threads, torch {torch.__version__}, sentence-transformers "
        f"{sentence_transformers.__version__}.",
    ]
    rows = ["| phase | ours / theirs | ours, texts per second | theirs | ours, tokens per second |", "|-|-:|-:|-:|-:|"]
    for phase in dict.fromkeys(one["phase"] for one in lines):
        of = {one["what"]: one for one in lines if one["phase"] == phase}
        ours, theirs = of[OURS]["texts_per_second"], of.get(THEIRS, {}).get("texts_per_second")
        ratio, their_speed = (f"**{ours / theirs:.1f} x**", f"{theirs:,.0f}") if theirs else ("", "")
        rows.append(f"| {phase} | {ratio} | {ours:,.0f} | {their_speed} | {of[OURS]['tokens_per_second']:,.0f} |")
    return "\n\n".join(head) + "\n\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
