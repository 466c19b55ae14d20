"""Prediction in shards: memory for any number of rows, and rows per second.

    python benchmarks/predict_memory.py

Memory: `phasefit predict` with a tiny random encoder on a CSV file of 1, 5 and 10 million short rows, each in its own
process, to a folder. Reported is the peak of the resident memory of that process. Throughput: the default encoder with
a new head on 100,000 synthetic texts. Results: `results/predict_memory.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
WORDS = (
    "rain",
    "storm",
    "sunny",
    "forecast",
    "song",
    "album",
    "guitar",
    "concert",
    "pizza",
    "dinner",
    "recipe",
    "hotel",
)
CLASSES = ["music", "weather", "food", "travel"]
PACKAGES = ("phasefit", "torch", "transformers", "pandas", "pyarrow", "numpy")


def main() -> None:
    """Measure and write the files."""
    args = parse()
    cells = []
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        folder = Path(work)
        for name, sizes in (("tiny random encoder", args.rows), ("default encoder", args.real_rows)):
            if not sizes:
                continue
            model = save(folder / name.split()[0], tiny=name.startswith("tiny"))
            for rows in sizes:
                cells.append({"encoder": name, **measure(folder, model, rows, args.threads)})
                print(cells[-1], flush=True)
    write(args, cells)


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


def measure(folder: Path, model: Path, rows: int, threads: int) -> dict[str, object]:
    """Peak memory and time of one command on this number of rows."""
    source, out = folder / f"{rows}.csv", folder / f"out-{rows}"
    make_table(source, rows)
    words = ["predict", str(model), str(source), "-o", f"{out}/", "--quiet", "--threads", str(threads)]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, "--child", *words], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    written = sum(sum(1 for _ in path.open("rb")) - 1 for path in out.glob("part-*"))
    assert written == rows, (written, rows)
    size = source.stat().st_size
    source.unlink()
    return {
        "rows": rows,
        "input_mb": round(size / 2**20, 1),
        "peak_mb": round(int(done.stdout.split()[-1]) / 1024),
        "seconds": round(seconds, 1),
        "rows_per_second": round(rows / seconds),
    }


def make_table(path: Path, rows: int) -> None:
    """Short random texts, mostly distinct; one row at a time."""
    chance = random.Random(0)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        for row in range(rows):
            writer.writerow([row, " ".join(chance.choices(WORDS, k=chance.randint(4, 12)))])


def child(words: list[str]) -> None:
    """Run a command and print the peak memory of this process, in KB."""
    from phasefit.cli.app import app

    app(words, standalone_mode=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def write(args: argparse.Namespace, cells: list[dict[str, object]]) -> None:
    """Write the CSV file and the table."""
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "predict_memory.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    used = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# Prediction in shards",
        "",
        f"Python {platform.python_version()}, {used}; {args.threads} thread of {os.cpu_count()} cores; shards of "
        "50,000 rows, CSV to CSV. Seconds include starting Python, loading the model and the first reading.",
        "",
        "| encoder | rows | input, MB | peak memory, MB | seconds | rows per second |",
        "|-|-:|-:|-:|-:|-:|",
    ]
    lines += [
        f"| {cell['encoder']} | {cell['rows']:,} | {cell['input_mb']:,} | {cell['peak_mb']:,} | {cell['seconds']:,} | "
        f"{cell['rows_per_second']:,} |"
        for cell in cells
    ]
    (args.out / "predict_memory.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main()
