"""Memory of large batches: the same step with the batch encoded at once, and in chunks.

    python benchmarks/large_batches.py

Two steps of `contrast` (supcon) and of `simcse` on the texts of TREC with the default model, each in its own process
with one thread. The peak includes everything that a run holds. Results: `results/large_batches.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measuring import peak, resident

WAYS = {"contrast": {"objective": "supcon", "balance": {"mode": "none"}}, "simcse": {}}


def main() -> None:
    """Measure each batch size in chunks and, for small ones, at once."""
    args = parse()
    if args.cell:
        print(json.dumps(measure(*args.cell.split(","), args.data)))
        return
    rows = []
    for kind in WAYS:
        for size in map(int, args.sizes.split(",")):
            for chunk in (0, args.chunk):
                if chunk or size <= args.whole:
                    rows.append(spawn(f"{kind},{size},{chunk}"))
                    print(rows[-1], flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "large_batches.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = summary(rows)
    (args.out / "large_batches.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="64,512,4096", help="batch sizes, comma-separated")
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--whole", type=int, default=512, help="the largest batch that is also encoded at once")
    parser.add_argument("--data", default="trec")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    return parser.parse_args()


def spawn(cell: str) -> dict[str, Any]:
    """Measure one line in its own process."""
    command = [sys.executable, __file__, *sys.argv[1:], "--cell", cell]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{cell} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(kind: str, size: str, chunk: str, data: str) -> dict[str, Any]:
    """Peak memory and seconds of two steps."""
    from phasefit.models.encoder.encoder import load_encoder
    from phasefit.models.model import Model
    from phasefit.phases import PHASES
    from phasefit.phases.contract import PhaseData
    from phasefit.prepare.prepare import prepare
    from phasefit.prepare.specification import DataSpec, SplitSpec
    from phasefit.recipes import read_recipe
    from phasefit.runs.fitting.index_rows import index_rows
    from phasefit.training.device import make_accelerator
    from phasefit.training.loop import train_phase

    prepared = prepare(DataSpec(data), SplitSpec())
    model = Model(load_encoder())
    rows: PhaseData = index_rows(model, prepared, read_recipe("finetune"), 0, lambda event: None)
    loaded = resident()
    options = PHASES.get(kind)(
        kind=kind, batch_size=int(size), chunk=int(chunk) or None, max_steps=2, min_steps=2, patience=0, **WAYS[kind]
    )
    phase = PHASES.get(kind).phase_class()(kind, options, model, rows, 0)
    widest = max(len(next(iter(draw.values()))) for draw in phase.batches.epoch(0))
    start = time.perf_counter()
    for _ in train_phase(phase, make_accelerator("cpu", "no"), seed=0, fixed_steps=2):
        pass
    took = (time.perf_counter() - start) / 2
    return {
        **{"phase": kind, "batch": widest, "chunk": int(chunk) or "whole"},
        **{"loaded_mb": round(loaded), "peak_mb": round(peak()), "seconds_a_step": round(took, 1)},
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """The table as Markdown."""
    columns = ["phase", "batch", "chunk", "MB before", "peak MB", "seconds per step"]
    lines = ["# Large batches", "", f"`python benchmarks/large_batches.py {' '.join(sys.argv[1:])}`".replace(" `", "`")]
    lines += [
        "",
        "Peak memory of the process in MB (10^6 bytes); times with one thread on a shared machine.",
        "",
    ]
    lines += [f"| {' | '.join(columns)} |", "|-|-:|-:|-:|-:|-:|"]
    lines += [f"| {' | '.join(str(value) for value in row.values())} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
