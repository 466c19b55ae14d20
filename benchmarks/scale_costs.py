"""The measured costs that `scale_simulation.py` uses, from the files of other benchmarks."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ENCODER = "default encoder"
MODEL_BYTES = 90.9e6  # model.safetensors of the default encoder


@dataclass(frozen=True)
class Costs:
    """Seconds are CPU seconds of one core."""

    row_seconds: np.ndarray  # per row, of each measured shard of the default encoder
    start_seconds: float  # of a worker, until it takes its first shard
    worker_mb: float
    bytes_in: float  # per row
    bytes_out: float
    plan: dict[str, float]  # per row, by format
    read: dict[str, float]
    tokenise: float  # per row
    shard_seconds: float  # of the command, per shard
    train_rate: float  # texts per second and core, fine-tuning
    model_bytes: float = MODEL_BYTES


def read_costs(folder: Path) -> Costs:
    """The costs; SystemExit if a file is missing."""
    shards = [row for row in rows_of(folder / "predict_shards.csv") if row["encoder"] == ENCODER]
    cell = next(row for row in rows_of(folder / "predict_memory.csv") if row["encoder"] == ENCODER)
    data = {row["what"]: float(row["microseconds"]) / 1e6 for row in rows_of(folder / "data_costs.csv")}
    plan, read = ({f: data[f"{what} {f}"] for f in ("csv", "jsonl", "parquet")} for what in ("plan", "read"))
    rows, seconds = int(cell["rows"]), np.array([float(row["cpu_seconds"]) for row in shards])
    finetune = next(row for row in rows_of(folder / "throughput.csv") if row["phase"] == "finetune")
    return Costs(
        row_seconds=seconds * len(seconds) / rows,
        start_seconds=float(cell["cpu_seconds"]) - float(seconds.sum()) - rows * plan["csv"],
        worker_mb=float(cell["peak_mb"]),
        bytes_in=float(cell["input_mb"]) * 1e6 / rows,
        bytes_out=float(cell["output_mb"]) * 1e6 / rows,
        plan=plan,
        read=read,
        tokenise=data["tokenise"],
        shard_seconds=per_shard(folder / "predict_engines.csv"),
        train_rate=float(finetune["texts_per_second"]) / 2,  # measured with two threads
    )


def per_shard(path: Path) -> float:
    """CPU seconds of the command per shard with Ray: the difference between two numbers of shards."""
    cells = [row for row in rows_of(path) if (row["part"], row["engine"]) == ("scheduling", "ray")]
    first, *_, last = sorted(cells, key=lambda cell: int(cell["shards"]))
    more = int(last["shards"]) - int(first["shards"])
    return (float(last["command_cpu"]) - float(first["command_cpu"])) / more


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a file."""
    if not path.is_file():
        raise SystemExit(f"{path} is missing; run the benchmark that writes it (see docs/scale.md)")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
