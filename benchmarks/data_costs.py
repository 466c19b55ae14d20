"""What reading costs, in CPU microseconds per row: planning, reading shards, tokenising; and bytes per row.

    python benchmarks/data_costs.py

Synthetic texts of 4 to 12 words, one process, one thread, the default encoder's tokeniser. Planning is the first
reading of `phasefit predict`, which the command does alone; of Parquet it reads only the footer. Reading is what a
worker does before it predicts. Results: `results/data_costs.{csv,md}`, which `scale_simulation.py` uses.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from predict_memory import make_table

HERE = Path(__file__).parent
FORMATS = ("csv", "jsonl", "parquet")
PACKAGES = ("phasefit", "pyarrow", "tokenizers")


def main() -> None:
    """Measure and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    args = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with tempfile.TemporaryDirectory() as work:
        cells = measure(Path(work), args.rows)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "data_costs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)
    (args.out / "data_costs.md").write_text(table(args.rows, cells), encoding="utf-8")
    print(table(args.rows, cells))


def measure(folder: Path, rows: int) -> list[dict[str, object]]:
    """The costs of each format, and of tokenising."""
    import pandas as pd

    from phasefit.data.io.dialect import Dialect
    from phasefit.data.io.frames import write_frame
    from phasefit.data.table_reading import Options as TableOptions
    from phasefit.models.encoder.encoder import load_encoder
    from phasefit.predicting.inputs import input_file
    from phasefit.predicting.plan import Planning, plan_file
    from phasefit.predicting.readers import Reader

    make_table(folder / "in.csv", rows, (4, 12))
    frame = pd.read_csv(folder / "in.csv", dtype={"text": "str"})
    asked = Planning(50_000, False, Dialect(), TableOptions(need_labels=False), False)
    cells: list[dict[str, object]] = []
    for format in FORMATS:
        path = folder / f"in.{format}"
        if format != "csv":
            write_frame(frame, path)
        file = input_file(str(path))
        plan_file(0, file, asked)  # loads what is imported late
        planned, planning = timed(lambda file=file: plan_file(0, file, asked))
        reader = Reader(planned.plan)
        reader.read(planned.shards[0], skip=False)
        _, reading = timed(
            lambda reader=reader, shards=planned.shards: [reader.read(one, skip=False) for one in shards]
        )
        reader.close()
        size = path.stat().st_size
        cells += [cell(f"plan {format}", rows, planning, size), cell(f"read {format}", rows, reading, size)]
    encoder = load_encoder()
    encoder.tokenise(frame["text"].tolist()[:100])
    tokens, seconds = timed(lambda: encoder.tokenise(frame["text"].tolist()))
    kept = (tokens.ids, tokens.words, tokens.starts, tokens.lost)
    return [*cells, cell("tokenise", rows, seconds, sum(array.nbytes for array in kept))]


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """The result of an action and the CPU seconds it took."""
    start = time.process_time()
    result = action()
    return result, time.process_time() - start


def cell(what: str, rows: int, seconds: float, size: int) -> dict[str, object]:
    """A line of the table."""
    return {"what": what, "rows": rows, "microseconds": round(1e6 * seconds / rows, 3), "bytes": round(size / rows, 1)}


def table(rows: int, cells: list[dict[str, object]]) -> str:
    """The table as Markdown."""
    used = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# What reading costs",
        "",
        f"`python benchmarks/data_costs.py --rows {rows}`, Python {platform.python_version()}, {used}; one thread. "
        "CPU microseconds and bytes per row; for `tokenise`, the bytes of its arrays.",
        "",
        "| what | CPU microseconds per row | bytes per row |",
        "|-|-:|-:|",
        *(f"| {one['what']} | {one['microseconds']} | {one['bytes']} |" for one in cells),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
