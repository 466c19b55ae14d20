"""The efficiency of the training step: its useful FLOP/s as a share of the machine's matrix multiplication.

    python benchmarks/step.py --data trec-fine,ag-news

Useful are the floating-point operations of real tokens in the Transformer's matrix multiplications, forward and
backward, without padding, objective, optimiser and dropout. The machine's speed is the best over the model's shapes and
large squares: of oneDNN where the encoder uses it, otherwise of `torch.mm`. Each configuration trains `contrast` on the
same batches with the training loop, one after the other in one process, `--rounds` times; medians are reported. The
last one is repeated with `torch.mm` where the encoder uses oneDNN, in bfloat16 (`--precision bf16`) on a CPU with units
for it, and for `--compile` with `torch.compile`, which needs a C++ compiler.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from one_phase import make_phase, rows_of, step_seconds, write_lines

OPTIONS: dict[str, dict[str, Any]] = {
    "padded, as before": {"pad": True},
    "packed": {},
    "packed, no dropout": {"encoder_dropout": 0.0},
    "packed, no dropout, words frozen": {"encoder_dropout": 0.0, "freeze_words": True},
}


def main() -> None:
    """Measure every configuration on every dataset, then write the files."""
    args = parse()
    import torch

    if args.threads:
        torch.set_num_threads(args.threads)
    lines = [line for data in args.data.split(",") for line in measure(data, args)]
    write_lines(args.out / "step.csv", lines)
    text = summary(lines, torch.get_num_threads())
    (args.out / "step.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default="trec-fine,ag-news", help="named datasets, comma-separated")
    add("--rows", type=int, default=2000, help="rows per dataset")
    add("--batch", type=int, default=64)
    add("--steps", type=int, default=6, help="steps per round; the first is not counted")
    add("--rounds", type=int, default=5)
    add("--threads", type=int, help="default: all cores")
    add("--compile", action="store_true", help="also with torch.compile")
    add("--model", help="default: the default model")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def measure(data: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """The lines of one dataset."""
    from phasefit.models.encoder.products import has_bfloat16_units, mkl_is_slow

    texts, labels = rows_of(data, args.rows)
    last = list(OPTIONS)[-1]
    variants = {"torch.mm": mkl_is_slow(), "bfloat16": has_bfloat16_units(), "compile": args.compile}
    ways = OPTIONS | {f"{last}, {name}": {**OPTIONS[last], name: True} for name, used in variants.items() if used}
    took: dict[str, list[float]] = {name: [] for name in ways}
    speed: list[float] = []
    work = 0.0
    for _ in range(args.rounds):
        speed.append(matrix_speed())
        for name, options in ways.items():
            seconds, work, length = steps(texts, labels, dict(options), args)
            took[name] += seconds
    best = max(speed)
    lines = []
    for name, seconds in took.items():
        step = statistics.median(seconds)
        lines.append(
            {
                "data": data,
                "way": name,
                "tokens_per_text": round(length, 1),
                "seconds_per_step": round(step, 4),
                "useful_gflops": round(work / step / 1e9, 1),
                "sgemm_gflops": round(best / 1e9, 1),
                "share": round(work / step / best, 3),
            }
        )
    return lines


def matrix_speed() -> float:
    """FLOP/s of torch.mm, or of oneDNN if it is used instead: the best over the model's shapes and large squares."""
    import torch

    from phasefit.models.encoder.products import mkl_is_slow, product

    speeds = []
    for m, k, n in ((832, 384, 1536), (832, 1536, 384), (1024, 1024, 1024), (2048, 2048, 2048)):
        left, right = torch.randn(m, k), torch.randn(n, k)
        times = []
        for _ in range(8):
            start = time.perf_counter()
            product(left, right) if mkl_is_slow() else torch.mm(left, right.T)
            times.append(time.perf_counter() - start)
        speeds.append(2 * m * k * n / statistics.median(times))
    return max(speeds)


def steps(
    texts: Sequence[str], labels: Sequence[Any], options: dict[str, Any], args: argparse.Namespace
) -> tuple[list[float], float, float]:
    """Seconds of each step except the first, useful FLOPs per step, and mean length of the texts."""
    import numpy as np

    from phasefit.models.encoder.compiled import compile_layers
    from phasefit.models.encoder.products import multiply_as_torch, train_in_bfloat16

    names = ("pad", "torch.mm", "bfloat16", "compile")
    padded, as_torch, rounded, compiled = (options.pop(name, False) for name in names)
    settings = {"batch_size": args.batch, "per_class": 2, "balance.mode": "none", "max_steps": args.steps, **options}
    model, phase = make_phase("contrast", texts, labels, model=args.model, settings=settings)
    tokens = phase.data.tokens
    with ExitStack() as stack:
        if padded:
            stack.enter_context(model.encoder.packing.off())
        if as_torch:
            multiply_as_torch(model.encoder.transformer)
        if rounded:
            train_in_bfloat16(model.encoder.transformer)
        if compiled:
            compile_layers(model.encoder)
        seconds = step_seconds(phase)
    drawn = [np.unique(draw["rows"]) for draw, _ in zip(phase.batches.epoch(0), range(args.steps), strict=False)][1:]
    work = [useful(model.encoder, tokens.lengths[batch]) for batch in drawn]
    length = float(np.mean([tokens.lengths[batch].mean() for batch in drawn]))
    return seconds[1 : len(drawn) + 1], statistics.mean(work), length


def useful(encoder: Any, lengths: Any) -> float:
    """FLOPs of the matrix multiplications for real tokens, forward and backward (twice the forward pass)."""
    from torch import nn

    body = encoder.transformer
    weights = [
        part.weight.numel()
        for name, part in body.named_modules()
        if isinstance(part, nn.Linear) and not name.startswith("pooler")
    ]
    attention = 4 * body.config.hidden_size * body.config.num_hidden_layers * float((lengths**2).sum())
    return 3 * (2.0 * sum(weights) * float(lengths.sum()) + attention)


def summary(lines: Sequence[dict[str, Any]], threads: int) -> str:
    """The Markdown table."""
    import torch
    import transformers

    parts = [
        "# Efficiency of the training step",
        f"`{' '.join(['python', 'benchmarks/step.py', *sys.argv[1:]])}`",
        f"{threads} threads, torch {torch.__version__}, transformers {transformers.__version__}. Share: useful FLOP/s "
        "of the whole step (including the optimiser) divided by those of the machine's matrix multiplication.",
        "| data | way | share | speed-up | seconds per step | useful GFLOP/s | sgemm GFLOP/s | tokens per text |",
        "|-|-|-:|-:|-:|-:|-:|-:|",
    ]
    table = []
    for line in lines:
        first = next(other for other in lines if other["data"] == line["data"])
        gain = first["seconds_per_step"] / line["seconds_per_step"]
        table.append(
            f"| {line['data']} | {line['way']} | {line['share']:.0%} | {gain:.2f} x | {line['seconds_per_step']} | "
            f"{line['useful_gflops']} | {line['sgemm_gflops']} | {line['tokens_per_text']} |"
        )
    return "\n\n".join(parts[:3]) + "\n\n" + "\n".join(parts[3:] + table) + "\n"


if __name__ == "__main__":
    main()
