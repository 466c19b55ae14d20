"""The simulation of many machines: cases whose outcome follows by hand, and the page that quotes it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))

from scale_costs import Costs, per_shard, read_costs  # noqa: E402
from scale_fleet import Fleet, Work, planning_seconds, simulate  # noqa: E402
from scale_training import Training, all_reduce, epoch, lost_seconds  # noqa: E402

COSTS = Costs(
    row_seconds=np.full(4, 0.01),
    start_seconds=5.0,
    worker_mb=700,
    bytes_in=50,
    bytes_out=100,
    plan={"csv": 1e-5, "jsonl": 1e-5, "parquet": 0.0},
    read={"csv": 1e-5, "jsonl": 1e-5, "parquet": 1e-6},
    tokenise=1e-5,
    shard_seconds=0.0,
    train_rate=50.0,
    model_bytes=1e8,
)
PERFECT = Fleet(machines=2, cores=2, disk=1e15, slow=0.0, mtbf=1e15)


def test_a_perfect_fleet_takes_the_time_of_its_rounds() -> None:
    outcome = simulate(Work(1e6, shard_rows=100_000), COSTS, PERFECT)  # ten shards of 1,000 s on four workers
    assert outcome.done == 10
    assert outcome.ideal == pytest.approx(2500)
    assert outcome.end == pytest.approx(0.01 + 5 + 3000)  # one footer, the start, three rounds
    assert outcome.tail == pytest.approx(1000)  # the last two shards start together
    assert (outcome.lost, outcome.repeated, outcome.disk) == (0, 0, 0)


def test_machines_load_the_model_from_one_disk() -> None:
    fleet = replace(PERFECT, disk=1e7)
    shared, own = (simulate(Work(1e6, local_model=local), COSTS, fleet) for local in (False, True))
    assert (shared.start, own.start) == (25, 5)  # two machines, 100 MB each, 10 MB per second


def test_text_files_are_planned_row_by_row() -> None:
    assert planning_seconds(Work(1e9, "csv"), COSTS) == pytest.approx(1e4)
    assert planning_seconds(Work(1e9, "parquet"), COSTS) == pytest.approx(10)


def test_the_command_hands_out_one_shard_at_a_time() -> None:
    outcome = simulate(Work(1e6, shard_rows=1_000), replace(COSTS, shard_seconds=60.0), PERFECT)
    assert outcome.end == pytest.approx(0.01 + 5 + 1000 * 60 + 10)  # the command is slower than four workers


def test_a_disk_bounds_the_rate() -> None:
    outcome = simulate(Work(1e6, shard_rows=10_000), COSTS, replace(PERFECT, disk=1e4))
    assert outcome.end > 1e6 * 150 / 1e4
    assert outcome.disk > 0


@pytest.mark.parametrize("copies", [False, True])
def test_failures_and_slow_machines_lose_time_and_no_shards(copies: bool) -> None:
    fleet = replace(PERFECT, machines=20, slow=0.3, mtbf=2000.0, repair=100.0)
    work = Work(2e6, shard_rows=10_000, copies=copies)
    outcomes = [simulate(work, COSTS, fleet, seed) for seed in range(5)]
    assert all(one.done == 200 for one in outcomes)
    assert all(one.end > one.ideal for one in outcomes)
    assert sum(one.repeated for one in outcomes) > 0
    assert sum(one.lost for one in outcomes) > 0


def test_copies_shorten_the_tail() -> None:
    fleet = replace(PERFECT, machines=20, slow=0.1, slowdown=10.0)
    tails = {
        copies: np.mean([simulate(Work(2e6, copies=copies), COSTS, fleet, seed).end for seed in range(8)])
        for copies in (False, True)
    }
    assert tails[True] < 0.8 * tails[False]


def test_several_commands_share_the_machines() -> None:
    work, costs = Work(1e6, shard_rows=1_000), replace(COSTS, shard_seconds=60.0)
    one, two = (simulate(replace(work, commands=count), costs, PERFECT) for count in (1, 2))
    assert (one.done, two.done) == (1000, 1000)
    assert two.end == pytest.approx(one.end / 2, rel=0.01)


def test_training_by_hand() -> None:
    setup = Training(Fleet(machines=4, slow=0.0, mtbf=4e4), batch=56, network=1e9, latency=0.0)
    assert all_reduce(1e8, 4, setup) == pytest.approx(2 * 3 / 4 * 0.1)
    assert all_reduce(1e8, 1, setup) == 0
    one = epoch(1e6, COSTS, setup, np.random.default_rng(0))
    assert one.compute == pytest.approx(56 / (50 * 16 * 0.7))
    assert (one.batch, one.steps, one.waiting) == (224, 4465, 0)
    assert one.reading == pytest.approx(1e6 * 1.1e-5)
    # a failure every 1e4 s, so a checkpoint every sqrt(2 * 5 * 1e4) = 316 s
    training = 4465 * (0.1 + 0.15)
    assert lost_seconds(training, setup) == pytest.approx(
        training / 316.23 * 5 + training / 1e4 * (158.11 + 300), rel=1e-3
    )
    assert one.seconds == pytest.approx(training + one.reading + one.lost)


def test_what_a_shard_costs_is_a_difference(tmp_path: Path) -> None:
    lines = ["part,engine,shards,command_cpu", "scheduling,ray,100,5", "scheduling,ray,600,7", "scheduling,local,9,1"]
    (tmp_path / "e.csv").write_text("\n".join(lines))
    assert per_shard(tmp_path / "e.csv") == pytest.approx(0.004)


def test_a_missing_measurement_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"predict_shards.csv is missing"):
        read_costs(tmp_path)


@pytest.mark.long
def test_the_table_follows_from_the_measured_figures(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(BENCHMARKS / "scale_simulation.py"), "--out", str(tmp_path)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    written = (BENCHMARKS / "results" / "scale_simulation.md").read_text(encoding="utf-8")
    assert (tmp_path / "scale_simulation.md").read_text(encoding="utf-8") == written


def test_the_page_quotes_the_tables() -> None:
    """Every row of figures on the page is a row of a committed table."""
    tables = "".join(path.read_text(encoding="utf-8") for path in (BENCHMARKS / "results").glob("*.md"))
    rows = [
        line
        for line in (ROOT / "docs" / "scale.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and re.search(r"\(\d+%\)|\d%? \|$", line)
    ]
    assert len(rows) > 8
    assert [row for row in rows if row not in tables] == []
