"""How much the weights of every phase differ between one process and several, without dropout.

    python benchmarks/processes.py                  # 1, 2 and 4 processes; writes benchmarks/results/processes.md
    python benchmarks/processes.py --processes 3    # another number; prints the table

The jobs are those of tests/processes.py: a few steps of every phase with a tiny encoder, on CPUs (gloo), with batches
that do not divide by the number of processes. The largest difference is over all trained weights and all scores of
evaluations.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "benchmarks" / "results" / "processes.md"
DEFAULT = (2, 4)

sys.path.insert(0, str(ROOT / "tests"))


def main() -> None:
    """Train, compare, print."""
    import torch

    from processes import SHARDED, TRAINED, largest_difference, launch, trained
    from tiny import save_tiny

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=DEFAULT, metavar="N", help="default: 2 4")
    counts = tuple(parser.parse_args().processes)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        quiet, noisy = (save_tiny(scratch / str(rate), dropout=rate) for rate in (0.0, 0.1))
        folders = {count: scratch / f"on-{count}" for count in counts}
        for count, folder in folders.items():
            folder.mkdir()
            launch(quiet, noisy, folder, count)
        rows = []
        for job in TRAINED:
            alone = trained(job, quiet)
            for prefix, title in (("", job), *([("sharded-", f"{job} (FSDP)")] if job in SHARDED else [])):
                results = [load_file(folder / f"{prefix}{job}-0.safetensors") for folder in folders.values()]
                rows.append([title, *(f"{largest_difference(alone, result):.1e}" for result in results)])
    text = table([["job", *(f"{count} processes" for count in counts)], *rows])
    print(text)
    if counts == DEFAULT:
        heading = "# Largest difference from one process, without dropout\n\n"
        how = "`python benchmarks/processes.py`: trained weights and scores, a tiny encoder on CPUs.\n\n"
        OUTPUT.write_text(heading + how + text + "\n", encoding="utf-8")


def table(rows: list[list[str]]) -> str:
    """A Markdown table."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|-" * len(rows[0]) + "|", *body])


if __name__ == "__main__":
    main()
