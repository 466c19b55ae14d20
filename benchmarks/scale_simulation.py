"""How long a billion rows take on many machines: a simulation from measured costs, which docs/scale.md quotes.

    python benchmarks/scale_simulation.py

Measured, from files that other benchmarks write: the CPU seconds of shards (`results/predict_shards.csv`), start-up and
bytes per row (`predict_memory.csv`), what a shard costs the command (`predict_engines.csv`), planning and tokenising
(`data_costs.csv`), and training (`throughput.csv`). Assumed: everything in `Fleet`, because no cluster was at hand.

Prediction is simulated event by event: a command plans, workers start, take shards from it one by one, share a disk,
are slow, fail and return (`scale_fleet.py`). Training is computed per step: the slowest machine, the exchange of
gradients, checkpoints and failures (`scale_training.py`). Writes `results/scale_simulation.md`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scale_costs import Costs, read_costs
from scale_fleet import FILE_ROWS, FOOTER, Fleet, Outcome, Work, simulate
from scale_training import Training, epoch

HERE = Path(__file__).parent
TRAINED = 1e8  # rows
MACHINES = (1, 10, 100, 1000)
BATCHES = (32, 512)  # texts per process and step
TIMES = 5
START = Work(rows=1e9, format="csv")
STEPS: dict[str, dict[str, object]] = {  # each remedy is added to those before it
    "CSV, shards of 50,000 rows": {},
    "Parquet": {"format": "parquet"},
    "shards of 10,000 rows": {"shard_rows": 10_000},
    "10 commands, each with a tenth of the files": {"commands": 10},
    "the model on the disk of each machine": {"local_model": True},
    "copies of the last shards (not built)": {"copies": True},
}


def main() -> None:
    """Simulate and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder of the measured figures")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    args = parser.parse_args()
    costs = read_costs(args.results)
    outcomes = outcomes_of(costs, args.seed)
    lines = [*introduction(costs), *predicting(outcomes), *breaking(outcomes, costs, args.seed)]
    lines += training(costs, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "scale_simulation.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def introduction(costs: Costs) -> list[str]:
    """What the figures follow from."""
    fleet = Fleet()
    return [
        "# Simulation of many machines",
        "",
        "`python benchmarks/scale_simulation.py`. Nothing here was run on a cluster: the costs of rows, shards and",
        "starts are measured on one machine, everything else is assumed.",
        "",
        "| figure | value | |",
        "|-|-:|-|",
        f"| rows per second and core, default encoder | {1 / costs.row_seconds.mean():,.0f} | measured, texts of 4 to "
        f"12 words, {len(costs.row_seconds)} shards |",
        f"| slowest over mean of these shards, CPU seconds | {costs.row_seconds.max() / costs.row_seconds.mean():.2f} "
        "| measured |",
        f"| start of a worker, CPU seconds | {costs.start_seconds:.1f} | measured |",
        f"| memory of a worker, MB | {costs.worker_mb:,.0f} | measured |",
        f"| bytes per row, read and written, CSV | {costs.bytes_in:.0f}, {costs.bytes_out:.0f} | measured, 4 classes |",
        f"| planning, CPU microseconds per row: CSV, JSON Lines, Parquet | {costs.plan['csv'] * 1e6:.1f}, "
        f"{costs.plan['jsonl'] * 1e6:.1f}, {costs.plan['parquet'] * 1e6:.3f} | measured |",
        f"| what a shard costs the command, CPU milliseconds | {costs.shard_seconds * 1000:.1f} | measured, Ray |",
        f"| size of the model, MB | {costs.model_bytes / 1e6:.0f} | its file |",
        f"| opening a Parquet file of {FILE_ROWS:,.0f} rows, milliseconds | {FOOTER * 1000:g} | assumed |",
        f"| cores of a machine | {fleet.cores} | assumed |",
        f"| shared disk, MB per second | {fleet.disk / 1e6:,.0f} | assumed |",
        f"| slow machines | {fleet.slow:.0%}, {fleet.slowdown:g} times slower | assumed |",
        f"| a machine fails every | {fleet.mtbf / 3600:g} hours, and is back after {fleet.repair / 60:g} minutes | "
        "assumed, as for machines that a cloud may take back |",
        "",
    ]


def outcomes_of(costs: Costs, seed: int) -> dict[tuple[str, int], Outcome]:
    """The outcome of each remedy, with those before it, on each number of machines."""
    outcomes, work = {}, START
    for name, change in STEPS.items():
        work = replace(work, **change)  # type: ignore[arg-type]
        for count in MACHINES:
            outcomes[name, count] = median(work, costs, Fleet(machines=count), seed)
    return outcomes


def median(work: Work, costs: Costs, fleet: Fleet, seed: int) -> Outcome:
    """The outcome in the middle of five simulations."""
    outcomes = [simulate(work, costs, fleet, seed + number) for number in range(TIMES)]
    return sorted(outcomes, key=lambda one: one.end)[TIMES // 2]


def predicting(outcomes: dict[tuple[str, int], Outcome]) -> list[str]:
    """The table of times."""
    lines = [
        "## 1e9 rows predicted",
        "",
        "Hours from the command to the last shard, and in brackets the share of the ideal (all cores computing all the",
        f"time); medians of {TIMES} simulations. Each line adds a remedy to the lines above.",
        "",
        f"| | {' | '.join(f'{count:,} machines' for count in MACHINES).replace('1 machines', '1 machine', 1)} |",
        f"|-|{'-:|' * len(MACHINES)}",
    ]
    for name in STEPS:
        line = [outcomes[name, count] for count in MACHINES]
        lines.append(f"| {name} | {' | '.join(f'{one.hours:.2f} ({one.efficiency:.0%})' for one in line)} |")
    ideal = [outcomes[next(iter(STEPS)), count].ideal / 3600 for count in MACHINES]
    return [*lines, f"| ideal | {' | '.join(f'{hours:.2f}' for hours in ideal)} |", ""]


def breaking(outcomes: dict[tuple[str, int], Outcome], costs: Costs, seed: int) -> list[str]:
    """Where the time goes."""
    lines = [
        "Where the time goes, in seconds: planning; start of a worker; waiting for the command and for the disk, and",
        "work lost in failures (means over all workers); shards that were lost; and the tail, from the moment when no",
        "shard is left to start.",
        "",
        "| machines | | planning | start | command | disk | lost | shards lost | tail | all |",
        "|-:|-|-:|-:|-:|-:|-:|-:|-:|-:|",
    ]
    for count in MACHINES[1:]:
        lines += [f"| {count:,} | {name} | {parts(outcomes[name, count])} |" for name in STEPS]
    slow = median(replace(START, format="parquet"), costs, Fleet(machines=1000, disk=1e8), seed)
    return [*lines, f"| 1,000 | Parquet, shards of 50,000 rows, a disk of 100 MB per second | {parts(slow)} |", ""]


def parts(one: Outcome) -> str:
    """The parts of a time as cells of a table."""
    seconds = (one.planning, one.start, one.command, one.disk, one.lost)
    return " | ".join(
        [*(f"{part:,.0f}" for part in seconds), f"{one.repeated:,}", f"{one.tail:,.0f}", f"{one.end:,.0f}"]
    )


def training(costs: Costs, seed: int) -> list[str]:
    """The table of training."""
    setup = Training()
    lines = [
        "## 1e8 rows trained, one epoch of fine-tuning",
        "",
        f"One process per machine with {setup.fleet.cores} threads. Measured: {costs.train_rate:.0f} texts per second "
        "and core (half of what two threads do); CPU",
        f"microseconds per row to read Parquet ({costs.read['parquet'] * 1e6:.1f}) and to tokenise "
        f"({costs.tokenise * 1e6:.1f}), which every process does for the whole table.",
        f"Assumed: threads that are {setup.threads:.0%} efficient, {setup.network * 8 / 1e9:g} Gbit per second between "
        f"machines, {setup.latency * 1e6:g} microseconds per exchange,",
        f"a checkpoint that takes {setup.checkpoint:g} seconds. Seconds of a step: computing, waiting for the slowest "
        "machine, exchanging gradients.",
        "",
        "| machines | texts per process | global batch | steps | computing | slowest | gradients | reading, hours "
        "| lost, hours | hours | share of the ideal |",
        "|-:|-:|-:|-:|-:|-:|-:|-:|-:|-:|-:|",
    ]
    for batch in BATCHES:
        for count in MACHINES:
            case = replace(setup, fleet=Fleet(machines=count), batch=batch)
            one = epoch(TRAINED, costs, case, np.random.default_rng(seed))
            numbers = [f"{count:,}", f"{batch}", f"{one.batch:,}", f"{one.steps:,}"]
            numbers += [f"{part:.2f}" for part in (one.compute, one.waiting, one.exchange)]
            numbers += [f"{part / 3600:.1f}" for part in (one.reading, one.lost, one.seconds)]
            lines.append(f"| {' | '.join(numbers)} | {one.efficiency:.0%} |")
    return lines


if __name__ == "__main__":
    main()
