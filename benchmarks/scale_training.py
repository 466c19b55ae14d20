"""Synchronous training on many machines: the time of an epoch, computed per step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scale_costs import Costs
from scale_fleet import Fleet

DRAWS = 2_000  # steps whose slowest machine is drawn


@dataclass(frozen=True)
class Training:
    """One process per machine; all of it is assumed."""

    fleet: Fleet = field(default_factory=Fleet)
    batch: int = 32  # texts per process and step
    threads: float = 0.7  # efficiency of the threads of a process
    network: float = 1.25e9  # bytes per second between two machines
    latency: float = 50e-6  # seconds per exchange
    checkpoint: float = 5.0  # seconds to write one


@dataclass(frozen=True)
class Epoch:
    """Seconds of an epoch and of a step."""

    batch: int
    steps: int
    compute: float  # of a step
    waiting: float  # for the slowest machine
    exchange: float  # of gradients
    reading: float
    lost: float  # checkpoints, and repeated work after failures
    seconds: float
    efficiency: float


def epoch(rows: float, costs: Costs, setup: Training, random: np.random.Generator) -> Epoch:
    """One epoch over the rows."""
    fleet = setup.fleet
    rate = costs.train_rate * fleet.cores * setup.threads  # texts per second of a machine
    compute = setup.batch / rate
    relative = costs.row_seconds / costs.row_seconds.mean()
    slow = 1 - (1 - fleet.slow) ** fleet.machines > 0.5  # whether one of the machines is probably slow
    drawn = random.choice(relative, (DRAWS, min(fleet.machines, 1000))).max(axis=1).mean()
    slowest = float(drawn) * (fleet.slowdown if slow else 1.0)
    exchange = all_reduce(costs.model_bytes, fleet.machines, setup)
    steps = math.ceil(rows / (setup.batch * fleet.machines))
    training = steps * (compute * slowest + exchange)
    reading = rows * (costs.tokenise + costs.read["parquet"])
    lost = lost_seconds(training, setup)
    seconds = reading + training + lost
    ideal = rows / (rate * fleet.machines)
    batch = setup.batch * fleet.machines
    return Epoch(
        batch, steps, compute, compute * max(slowest - 1, 0.0), exchange, reading, lost, seconds, ideal / seconds
    )


def all_reduce(size: float, machines: int, setup: Training) -> float:
    """A ring: every machine sends its gradients in parts, twice."""
    if machines == 1:
        return 0.0
    return 2 * (machines - 1) / machines * size / setup.network + 2 * (machines - 1) * setup.latency


def lost_seconds(training: float, setup: Training) -> float:
    """Checkpoints at the interval that costs least (Young, 1974), and repeated work: a failure stops all machines."""
    between = setup.fleet.mtbf / setup.fleet.machines
    interval = math.sqrt(2 * setup.checkpoint * between)
    failures = training / between
    return training / interval * setup.checkpoint + failures * (interval / 2 + setup.fleet.repair)
