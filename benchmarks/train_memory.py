"""Training on tables larger than memory: peak memory and seconds of `phasefit train` for any number of rows.

    python benchmarks/train_memory.py

`phasefit train` fine-tunes a tiny random encoder for a few steps on a Parquet file of 1, 5 and 10 million short rows,
each in its own process, and does everything that it does for a small table: it reads, checks and splits the rows,
tokenises and trains, scores validation and test rows, fits the baselines, and writes the report. Reported is the peak
of the resident memory of that process. Results: `results/train_memory.{csv,md}`; sizes that were measured before are
kept.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = ("phasefit", "torch", "transformers", "tokenizers", "pyarrow", "numpy")
AT_ONCE = 100_000  # rows of a row group
FORMATS = ("parquet", "jsonl")
RESULTS = "train_memory.csv"
SHARES = (0.4, 0.3, 0.2, 0.1)  # of the four classes
FILLED = (4, 12)  # words of a text without its two keywords: from 4 to 11


def main() -> None:
    """Measure and write the files."""
    args = parse()
    cells = read(args.out / RESULTS)
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        folder = Path(work)
        model = save(folder / "encoder")
        for rows in args.rows:
            cell = measure(folder, model, rows, args)
            cells = [other for other in cells if not is_same(other, cell)] + [cell]
            print(cell, flush=True)
            write(args, sorted(cells, key=lambda cell: (cell["format"], int(cell["rows"]))))


def read(path: Path) -> list[dict[str, Any]]:
    """The sizes that were measured before."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _number(value) for name, value in cell.items()} for cell in csv.DictReader(file)]


def _number(text: str) -> Any:
    return float(text) if "." in text else int(text) if text.isdecimal() else text


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two cells are of the same table."""
    return bool((one["rows"], one["format"]) == (other["rows"], other["format"]))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 5_000_000, 10_000_000])
    parser.add_argument("--format", choices=FORMATS, default="parquet")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder with room for the tables; default: the temporary folder")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def save(folder: Path) -> Path:
    """The folder of a tiny random encoder."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from tiny import save_tiny

    return Path(save_tiny(folder))


def measure(folder: Path, model: Path, rows: int, args: argparse.Namespace) -> dict[str, Any]:
    """Peak memory and time of one run on this number of rows."""
    source, out = folder / f"table-{rows}.{args.format}", folder / f"run-{rows}"
    make_table(source, rows)
    words = ["train", str(source), "--model", str(model), "--recipe", "finetune", "-o", str(out)]
    words += ["--set", f"finetune.max_steps={args.steps}", "--threads", str(args.threads)]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, "--child", *words], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    size = source.stat().st_size
    source.unlink()
    return {
        "rows": rows,
        "format": args.format,
        "input_mb": round(size / 2**20, 1),
        "peak_mb": round(int(done.stdout.split()[-1]) / 1024),
        "seconds": round(seconds, 1),
    }


def make_table(path: Path, rows: int) -> None:
    """Short texts of random words, mostly distinct, in four classes of different sizes; written piece by piece."""
    if path.suffix == ".jsonl":
        with path.open("w", encoding="utf-8") as file:
            for piece in _pieces(rows):
                file.writelines(json.dumps(row) + "\n" for row in piece.to_pylist())
        return
    from pyarrow import parquet

    writer = None
    for piece in _pieces(rows):
        writer = writer or parquet.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    if writer is not None:
        writer.close()


def _pieces(rows: int) -> Iterator[Any]:
    """Tables of pyarrow."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from tiny import FILLERS, KEYWORDS

    random = np.random.default_rng(0)
    names, keywords = np.array(list(KEYWORDS)), np.array(list(KEYWORDS.values()))
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        codes = random.choice(len(names), count, p=SHARES)
        ends = [keywords[codes, random.integers(0, keywords.shape[1], count)] for _ in range(2)]
        sizes = random.integers(*FILLED, count)
        fillers = np.array(FILLERS)[random.integers(0, len(FILLERS), (FILLED[1] - 1, count))]
        words = [pa.array(column, mask=place >= sizes) for place, column in enumerate(fillers)]
        texts = pc.binary_join_element_wise(pa.array(ends[0]), *words, pa.array(ends[1]), " ", null_handling="skip")
        yield pa.table({"text": texts, "label": pa.array(names[codes])})


def child(words: list[str]) -> None:
    """Run a command and print the peak memory of this process, in KB."""
    from phasefit.cli.app import app

    app(words, standalone_mode=False)
    print(_peak())


def _peak() -> int:
    """Of this process alone: `getrusage` inherits the peak of the parent."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def write(args: argparse.Namespace, cells: list[dict[str, Any]]) -> None:
    """Write the CSV file and the table."""
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / RESULTS).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    used = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# Training on tables larger than memory",
        "",
        f"`python benchmarks/train_memory.py`: `phasefit train --recipe finetune`, a tiny random encoder, {args.steps} "
        "steps, four classes, texts of 6 to 13 words; everything else by default, with baselines and report.",
        "",
        f"Python {platform.python_version()}, {used}; {args.threads} thread of {os.cpu_count()} cores, which other "
        "processes shared. Seconds include starting Python. Peak memory includes the pages of temporary files that are "
        "mapped into memory, which the system may drop at any time.",
        "",
        "| rows | format | input, MB | peak memory, MB | seconds |",
        "|-:|-|-:|-:|-:|",
    ]
    lines += [
        f"| {cell['rows']:,} | {cell['format']} | {cell['input_mb']:,} | {cell['peak_mb']:,} | {cell['seconds']:,} |"
        for cell in cells
    ]
    (args.out / "train_memory.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main()
