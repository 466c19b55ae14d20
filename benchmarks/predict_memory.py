"""Prediction in shards: memory for any number of rows, and rows per second.

    python benchmarks/predict_memory.py
    python benchmarks/predict_memory.py --rows 10000000 --real-rows

Memory: `phasefit predict` with a tiny random encoder on a CSV file of 1, 5 and 10 million texts of 3 to 5 words, each
in its own process, to a folder. Reported is the peak of the resident memory of that process. Throughput: the default
encoder with a new head on 100,000 synthetic texts of 4 to 12 words, in shards of 2,500 rows. A cell is added to
`results/predict_memory.csv` once it is measured and replaces an earlier one; the table `results/predict_memory.md` has
all of them. `results/predict_shards.csv` has the seconds of every shard, which `scale_simulation.py` draws from.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CLASSES = ["music", "weather", "food", "travel"]
PACKAGES = ("phasefit", "torch", "transformers", "pandas", "pyarrow", "numpy")
TINY, REAL = "tiny random encoder", "default encoder"
WORDS = {TINY: (3, 5), REAL: (4, 12)}  # fewest and most words of a text
OPTIONS = {TINY: ["--batch-size", "512"], REAL: ["--shard-rows", "2500"]}


def main() -> None:
    """Measure and write the files."""
    args = parse()
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        folder = Path(work)
        for name, sizes in ((TINY, args.rows), (REAL, args.real_rows)):
            if not sizes:
                continue
            model = save(folder / name.split()[0], tiny=name == TINY)
            for rows in sizes:
                cell, shards = measure(folder, model, name, rows, args.threads)
                print(cell, flush=True)
                add_rows(args.out / "predict_memory.csv", [cell])
                add_rows(args.out / "predict_shards.csv", shards)
    write(args.out)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 5_000_000, 10_000_000])
    parser.add_argument("--real-rows", type=int, nargs="*", default=[100_000])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder with room for the tables; default: the temporary folder")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def save(folder: Path, *, tiny: bool) -> Path:
    """The folder of a saved model with a random head."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from phasefit.data.labels import label_space
    from phasefit.models.encoder.encoder import load_encoder
    from phasefit.models.encoder.locate import DEFAULT_MODEL
    from phasefit.models.heads import Head
    from phasefit.models.model import TASK, Model
    from phasefit.runs.results import save_model
    from tiny import save_tiny

    encoder = load_encoder(str(save_tiny(folder / "encoder")) if tiny else DEFAULT_MODEL)
    model = Model(encoder)
    model.heads[TASK] = Head("linear", encoder.dimension, len(CLASSES)).eval()
    model.spaces[TASK] = label_space(CLASSES)
    save_model(model, folder / "run")
    return folder / "run"


def measure(
    folder: Path, model: Path, name: str, rows: int, threads: int
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Peak memory and time of one command on this number of rows, and the times of its shards."""
    source, out = folder / f"{rows}.csv", folder / f"out-{rows}"
    make_table(source, rows, WORDS[name])
    words = ["predict", str(model), str(source), "-o", f"{out}/", "--quiet", "--threads", str(threads), *OPTIONS[name]]
    log = folder / "shards.txt"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(log), *words], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    parts = list(out.glob("part-*"))
    written = sum(sum(1 for _ in path.open("rb")) - 1 for path in parts)
    assert written == rows, (written, rows)
    size, output = source.stat().st_size, sum(path.stat().st_size for path in parts)
    source.unlink()
    for path in parts:
        path.unlink()
    peak, cpu = map(float, done.stdout.split()[-2:])
    times = [line.split() for line in log.read_text(encoding="ascii").splitlines()]
    log.unlink()
    cell = {
        "encoder": name,
        "rows": rows,
        "shards": len(parts),
        "input_mb": round(size / 1e6, 1),
        "output_mb": round(output / 1e6, 1),
        "peak_mb": round(peak),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
    }
    keys = {"encoder": name, "rows": rows}
    return cell, [{**keys, "shard": place, "seconds": one[0], "cpu_seconds": one[1]} for place, one in enumerate(times)]


def make_table(path: Path, rows: int, length: tuple[int, int]) -> None:
    """Short random texts, mostly distinct; one row at a time."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from tiny import FILLERS, KEYWORDS

    chance, words = random.Random(0), [*FILLERS, *(word for known in KEYWORDS.values() for word in known)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        for row in range(rows):
            writer.writerow([row, " ".join(chance.choices(words, k=chance.randint(*length)))])


def child(log: Path, words: list[str]) -> None:
    """Run a command, note the seconds of its shards, and print the peak memory in MB and the CPU seconds."""
    from measuring import peak

    from phasefit.cli.app import app
    from phasefit.predicting import worker

    execute = worker.Worker.execute

    def timed(*arguments: Any) -> Any:
        start, cpu = time.perf_counter(), time.process_time()
        result = execute(*arguments)
        with log.open("a", encoding="ascii") as file:
            file.write(f"{time.perf_counter() - start:.3f} {time.process_time() - cpu:.3f}\n")
        return result

    worker.Worker.execute = timed  # type: ignore[method-assign]
    app(words, standalone_mode=False)
    print(peak(), time.process_time())


def add_rows(path: Path, added: Sequence[Mapping[str, object]]) -> None:
    """Add rows to a CSV file; they replace those of the same encoder and number of rows."""
    key = {(str(row["encoder"]), str(row["rows"])) for row in added}
    kept = [row for row in read_rows(path) if (row["encoder"], row["rows"]) not in key]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(added[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *added])


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, if there is one."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(out: Path) -> None:
    """Write the table of all cells."""
    cells = sorted(read_rows(out / "predict_memory.csv"), key=lambda cell: (cell["encoder"] == REAL, int(cell["rows"])))
    used = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# Prediction in shards",
        "",
        f"`python benchmarks/predict_memory.py`, Python {platform.python_version()}, {used}; one thread on a machine "
        f"with {os.cpu_count()} cores that other programs used too, so that CPU seconds say more than seconds. Both "
        "include starting Python, loading the model and the first reading. CSV to CSV; shards of 50,000 rows with the "
        "tiny encoder, of 2,500 with the default encoder. MB are 10^6 bytes.",
        "",
        "| encoder | rows | input, MB | output, MB | peak memory, MB | seconds | CPU seconds | rows per CPU second |",
        "|-|-:|-:|-:|-:|-:|-:|-:|",
    ]
    for cell in cells:
        numbers = [f"{float(cell[name]):,.0f}" for name in ("rows", "input_mb", "output_mb", "peak_mb", "seconds")]
        cpu = float(cell["cpu_seconds"])
        lines.append(f"| {cell['encoder']} | {' | '.join(numbers)} | {cpu:,.0f} | {int(cell['rows']) / cpu:,.0f} |")
    (out / "predict_memory.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
