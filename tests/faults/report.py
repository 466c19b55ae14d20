"""Fail every operation of every scenario, and print how many faults were injected.

Run as `make faults`, or as `python tests/faults/report.py [scenario ...]`.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def main(names: list[str]) -> int:
    """Fail every operation of the scenarios; the number of failures."""
    from faults.scenarios import SCENARIOS, Injector, World, conditions

    failures = 0
    with tempfile.TemporaryDirectory() as folder, conditions():
        world = World(Path(folder))
        gc.collect()
        gc.freeze()
        for name in names or SCENARIOS:
            started = time.monotonic()
            injector = Injector(world, SCENARIOS[name])
            injector.all()
            print(injector.count, f" {time.monotonic() - started:.0f} s", flush=True)  # noqa: T201
            for failure in injector.count.failures:
                print(f"  {failure}")  # noqa: T201
            failures += len(injector.count.failures)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
