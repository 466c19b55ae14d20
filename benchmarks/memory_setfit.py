"""Build the training pairs of SetFit as its trainer does and report memory and time; run by SetFit's interpreter.

    RIVAL/bin/python benchmarks/memory_setfit.py table.csv --limit 8 [--max-steps 20]

`memory.py` calls it. The limit applies to the pairs, in addition to what Python and the libraries already use.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import time

from measuring import address_space, new_peak, peak, resident

BATCH = 16  # SetFit's default for embeddings; its trainer draws at most max_steps * BATCH pairs


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--limit", type=float, default=8, help="GB (10^9 bytes)")
    parser.add_argument("--max-steps", type=int, default=-1, help="SetFit's max_steps; default: -1, all pairs")
    args = parser.parse_args()

    import setfit
    from datasets import Dataset
    from setfit.sampler import ContrastiveDataset

    with open(args.table, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts, labels = [row["text"] for row in rows], [row["label"] for row in rows]
    del rows
    start_mb, start, pairs, status = resident(), time.perf_counter(), 0, "done"
    new_peak()
    most = address_space() + int(args.limit * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        # As in Trainer.get_dataset (setfit/trainer.py).
        most_pairs = -1 if args.max_steps == -1 else args.max_steps * BATCH
        sampler = ContrastiveDataset(texts, labels, False, None, "oversampling", max_pairs=most_pairs)
        pairs = len(sampler)
        Dataset.from_list(list(sampler))
    except MemoryError:
        status = "out of memory"
    took = time.perf_counter() - start
    print(
        json.dumps(
            {
                "version": setfit.__version__,
                "pairs": pairs,
                "start_mb": start_mb,
                "peak_mb": peak(),
                "status": status,
                "seconds": took,
            }
        )
    )


if __name__ == "__main__":
    main()
