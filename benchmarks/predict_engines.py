"""Rows per second of `--engine local`, `local:2` and `ray`, and what a shard costs besides its rows.

    python benchmarks/predict_engines.py
    python benchmarks/predict_engines.py --part scheduling

Rate: the default encoder with a new head on synthetic texts of 4 to 12 words. Every engine starts in a process of its
own. Reported are the seconds until the first shard is finished, the rows per second after that, and the CPU seconds of
the command and all processes that it started. Scheduling: many shards of ten rows each and a tiny encoder; CPU seconds
per shard of the process of the command, and of its workers. Results: `results/predict_engines.{csv,md}`.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from predict_memory import REAL, TINY, add_rows, make_table, read_rows, save

HERE = Path(__file__).parent
ENGINES = ("local", "local:2", "ray")
PACKAGES = ("phasefit", "torch", "ray")
TICKS = os.sysconf("SC_CLK_TCK")
RATE_ROWS, SCHEDULING_ROWS = 500, 10  # of a shard
EVERY = 0.1  # seconds between looks at the processes


def main() -> None:
    """Measure and write the files."""
    args = parse()
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        folder = Path(work)
        for part in args.part:
            name, shard_rows = (REAL, RATE_ROWS) if part == "rate" else (TINY, SCHEDULING_ROWS)
            model = save(folder / part, tiny=part != "rate")
            for rows in [args.rows] if part == "rate" else [shards * shard_rows for shards in args.shards]:
                make_table(folder / f"{rows}.csv", rows, (4, 12))
                for engine in args.engines:
                    cell = {"part": part, "encoder": f"{name}, {part}, {engine}", "rows": rows, "engine": engine}
                    cell |= measure(folder / f"{rows}.csv", model, engine, shard_rows)
                    print(cell, flush=True)
                    add_rows(args.out / "predict_engines.csv", [cell])
    write(args.out, args.note)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=("rate", "scheduling"), default=["rate", "scheduling"])
    parser.add_argument("--engines", nargs="+", default=[name for name in ENGINES if name != "ray" or find_spec("ray")])
    parser.add_argument("--rows", type=int, default=6_000, help="for the rate")
    parser.add_argument("--shards", type=int, nargs="+", default=[100, 600], help="for scheduling")
    parser.add_argument("--work", type=Path, help="a folder for tables and output; default: the temporary folder")
    parser.add_argument("--note", default="", help="a sentence about the measurement for the table")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def measure(source: Path, model: Path, engine: str, shard_rows: int) -> dict[str, object]:
    """Times of one command."""
    out = source.parent / f"out-{source.stem}-{engine.replace(':', '')}"
    words = ["predict", str(model), str(source), "-o", f"{out}/", "--shard-rows", str(shard_rows)]
    words += ["--engine", engine, "--threads", "1", "--quiet"]
    start = time.time()
    same = {**os.environ, "RAY_worker_niceness": "0"}  # otherwise other programs would slow down Ray's workers alone
    process = subprocess.Popen([sys.executable, "-m", "phasefit", *words], env=same)
    seconds: dict[int, float] = {}
    while process.poll() is None:
        seconds |= cpu_seconds(process.pid)
        time.sleep(EVERY)
    if process.returncode:
        raise SystemExit(f"phasefit {' '.join(words)} failed")
    ends = sorted(path.stat().st_mtime for path in out.glob("part-*"))
    own = seconds.get(process.pid, 0.0)
    return {
        "shards": len(ends),
        "start_seconds": round(ends[0] - start, 2),
        "rows_per_second": round((len(ends) - 1) * shard_rows / (ends[-1] - ends[0]), 1),
        "seconds": round(time.time() - start, 1),
        "command_cpu": round(own, 2),
        "workers_cpu": round(sum(seconds.values()) - own, 2),
        "load": round(os.getloadavg()[0], 1),
    }


def cpu_seconds(root: int) -> dict[int, float]:
    """The CPU seconds so far of a process and of all that descend from it; Linux only."""
    parents, used = {}, {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents[pid], used[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
    return {pid: used[pid] for pid in parents if root in ancestors(pid, parents)}


def ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    """A process, its parent, and so on."""
    line = [pid]
    while (parent := parents.get(line[-1], 0)) > 1 and parent not in line:
        line.append(parent)
    return line


def shard_cost(cells: Sequence[Mapping[str, str]], engine: str) -> tuple[int, int, float, float] | None:
    """Fewest and most shards that were measured, and the CPU seconds of the command and of workers per shard."""
    measured = [cell for cell in cells if (cell["part"], cell["engine"]) == ("scheduling", engine)]
    if len(measured) < 2:
        return None
    first, *_, last = sorted(measured, key=lambda cell: int(cell["shards"]))
    more = int(last["shards"]) - int(first["shards"])
    command, workers = ((float(last[name]) - float(first[name])) / more for name in ("command_cpu", "workers_cpu"))
    return int(first["shards"]), int(last["shards"]), command, workers


def write(out: Path, note: str = "") -> None:
    """Write the tables of all cells."""
    cells = read_rows(out / "predict_engines.csv")
    used = ", ".join(f"{package} {version(package)}" for package in PACKAGES if find_spec(package))
    lines = [
        "# Engines",
        "",
        f"`python benchmarks/predict_engines.py`, Python {platform.python_version()}, {used}; a machine with "
        f"{os.cpu_count()} cores that other programs used too (load: the average of the last minute), one thread per "
        "worker. `local` has one worker, the others two. Ray's workers run with the priority of the others "
        "(`RAY_worker_niceness=0`). With a load far above the number of cores, rows per second depend on what the "
        f"other programs do; CPU seconds do so less. {note}".rstrip(),
        "",
        "The default encoder, shards of 500 rows:",
        "",
        "| engine | seconds to the first shard | rows per second | against `local` | CPU seconds | rows per CPU second "
        "| load |",
        "|-|-:|-:|-:|-:|-:|-:|",
    ]
    rates = [cell for cell in cells if cell["part"] == "rate"]
    for cell in rates:
        cpu = float(cell["command_cpu"]) + float(cell["workers_cpu"])
        ratio = float(cell["rows_per_second"]) / float(rates[0]["rows_per_second"])
        lines.append(
            f"| `{cell['engine']}` | {float(cell['start_seconds']):.0f} | {float(cell['rows_per_second']):,.0f} | "
            f"{ratio:.2f} | {cpu:.0f} | {int(cell['rows']) / cpu:,.0f} | {cell['load']} |"
        )
    lines += [
        "",
        "Rows per second are counted from the end of the first shard; CPU seconds include the start.",
        "",
        "A tiny encoder, shards of 10 rows: what a shard costs besides its rows, as the difference between two numbers "
        "of shards, which leaves out the start.",
        "",
        "| engine | shards | CPU ms per shard of the command | of its workers |",
        "|-|-:|-:|-:|",
    ]
    for engine in dict.fromkeys(cell["engine"] for cell in cells):
        cost = shard_cost(cells, engine)
        if cost is not None:
            fewer, more, command, workers = cost
            lines.append(f"| `{engine}` | {fewer}, {more} | {1000 * command:.1f} | {1000 * workers:.1f} |")
    (out / "predict_engines.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
