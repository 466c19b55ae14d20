"""Prediction in shards on many machines, event by event.

A command plans the work and hands out shards; it handles one worker at a time. A worker computes a shard, which takes
the CPU seconds of a measured one, longer on a slow machine, and never less than its share of the disk allows. A failed
machine loses the shards of all its workers, which other workers repeat, and returns after a while.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
from scale_costs import Costs

FOOTER = 0.01  # seconds to open a Parquet file on a shared disk
FILE_ROWS = 1e6  # rows of a Parquet file
BLOCK = 2_500  # rows of a measured shard; larger ones are sums of several


@dataclass(frozen=True)
class Work:
    """What is predicted, and how."""

    rows: float
    format: str = "parquet"
    shard_rows: int = 50_000
    commands: int = 1  # that share the rows and the machines
    local_model: bool = False  # whether each machine has the model on its own disk
    copies: bool = False  # whether idle workers repeat shards that are still running

    @property
    def shards(self) -> int:
        """How many there are."""
        return math.ceil(self.rows / self.shard_rows)


@dataclass(frozen=True)
class Fleet:
    """Machines; all of it is assumed."""

    machines: int = 1
    cores: int = 16
    disk: float = 1e9  # bytes per second, shared by all
    slow: float = 0.02  # the share of slow machines
    slowdown: float = 3.0
    mtbf: float = 24 * 3600.0  # mean time between failures of a machine
    repair: float = 300.0

    @property
    def workers(self) -> int:
        """One per core."""
        return self.machines * self.cores


@dataclass
class Outcome:
    """Seconds; those of workers are means over all workers."""

    ideal: float
    planning: float = 0.0
    start: float = 0.0
    command: float = 0.0  # waiting for the command
    disk: float = 0.0  # waiting for the disk
    lost: float = 0.0
    repeated: int = 0  # shards that were lost
    tail: float = 0.0
    end: float = 0.0
    done: int = 0  # shards

    @property
    def hours(self) -> float:
        """From the command to the last shard."""
        return self.end / 3600

    @property
    def efficiency(self) -> float:
        """The share of the ideal."""
        return self.ideal / self.end


def simulate(work: Work, costs: Costs, fleet: Fleet, seed: int = 0) -> Outcome:
    """The outcome of one command, or of the slowest of several that share the machines evenly."""
    if work.commands > 1 and fleet.machines >= work.commands:
        share = replace(work, rows=work.rows / work.commands, commands=1)
        part = replace(fleet, machines=fleet.machines // work.commands, disk=fleet.disk / work.commands)
        outcomes = [simulate(share, costs, part, seed * 1000 + number) for number in range(work.commands)]
        slowest = max(outcomes, key=lambda one: one.end)
        slowest.repeated = sum(one.repeated for one in outcomes)
        slowest.done = sum(one.done for one in outcomes)
        return slowest
    return _Simulation(work, costs, fleet, np.random.default_rng(seed)).run()


@dataclass
class _Simulation:
    work: Work
    costs: Costs
    fleet: Fleet
    random: np.random.Generator
    events: list[tuple[float, int, int]] = field(default_factory=list)  # time, worker (-1: a shard returns), shard

    def run(self) -> Outcome:
        work, costs, fleet = self.work, self.costs, self.fleet
        mean = float(costs.row_seconds.mean())
        outcome = Outcome(ideal=work.rows * mean / fleet.workers)
        outcome.planning = planning_seconds(work, costs)
        size = 0.0 if work.local_model else costs.model_bytes
        loading = size * fleet.machines / fleet.disk  # once per machine, then it is in its memory
        outcome.start = costs.start_seconds + loading
        speeds = np.where(self.random.random(fleet.machines) < fleet.slow, fleet.slowdown, 1.0)
        failures = [self.random.exponential(fleet.mtbf) for _ in range(fleet.machines)]
        for worker in range(fleet.workers):
            slowness = speeds[worker // fleet.cores]
            heapq.heappush(self.events, (outcome.planning + costs.start_seconds * slowness + loading, worker, -1))
        waiting = deque(range(work.shards))
        running: deque[int] = deque()  # in the order of their starts, for copies
        idle: deque[int] = deque()
        free = 0.0  # when the command can handle the next worker
        times = self._times()
        done = bytearray(work.shards)
        empty_at = 0.0
        size = work.shard_rows * (costs.bytes_in + costs.bytes_out)
        active = 0
        while outcome.done < work.shards:
            time, worker, shard = heapq.heappop(self.events)
            if worker < 0:  # a shard of a failed machine is handed out again
                if not done[shard]:
                    waiting.append(shard)
                if not idle or not waiting:
                    continue
                worker = idle.popleft()
            elif shard >= 0:
                active -= 1
                if not done[shard]:
                    done[shard] = 1
                    outcome.done += 1
                    outcome.end = time
            taken = self._next(waiting, running, done)
            if taken is None:
                idle.append(worker)
                continue
            machine = worker // fleet.cores
            free = max(free, time) + costs.shard_seconds
            outcome.command += free - time
            active += 1
            compute = times[taken] * speeds[machine]
            transfer = size * active / fleet.disk
            outcome.disk += max(0.0, transfer - compute)
            end = free + max(compute, transfer)
            while failures[machine] < free:  # it failed while it did nothing
                failures[machine] += self.random.exponential(fleet.mtbf)
            if failures[machine] < end:
                outcome.lost += failures[machine] - free
                outcome.repeated += 1
                active -= 1
                heapq.heappush(self.events, (failures[machine], -1, taken))
                back = failures[machine] + fleet.repair + costs.start_seconds
                heapq.heappush(self.events, (back, worker, -1))
            else:
                heapq.heappush(self.events, (end, worker, taken))
            if not waiting and not empty_at:
                empty_at = time
        outcome.tail = outcome.end - empty_at
        for name in ("command", "disk", "lost"):
            setattr(outcome, name, getattr(outcome, name) / fleet.workers)
        return outcome

    def _times(self) -> np.ndarray:
        """CPU seconds of all shards: of each, those of as many measured blocks as it has."""
        blocks = max(1, self.work.shard_rows // BLOCK)
        drawn = self.random.integers(0, len(self.costs.row_seconds), (self.work.shards, blocks))
        return np.asarray(self.costs.row_seconds[drawn].mean(axis=1)) * self.work.shard_rows

    def _next(self, waiting: deque[int], running: deque[int], done: bytearray) -> int | None:
        """The next shard, or a running one for the second time; None if there is nothing to do."""
        while waiting:
            shard = waiting.popleft()
            if not done[shard]:
                if self.work.copies:
                    running.append(shard)
                return shard
        while running:
            shard = running.popleft()
            if not done[shard]:
                return shard
        return None


def planning_seconds(work: Work, costs: Costs) -> float:
    """The command reads text files completely, and of Parquet files only their footers."""
    if work.format == "parquet":
        return math.ceil(work.rows / FILE_ROWS) * FOOTER
    return work.rows * costs.plan[work.format]
