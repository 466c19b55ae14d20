"""The number of CPU threads that a study may use. Imports no torch."""

from __future__ import annotations

import os

OMP = "OMP_NUM_THREADS"


def environment_threads() -> int | None:
    """The threads that OMP_NUM_THREADS allows each process, as torch reads it; None if it is unset or not a number."""
    first = os.environ.get(OMP, "").partition(",")[0].strip()  # further numbers are for nested regions
    return int(first) if first.isascii() and first.isdecimal() and int(first) else None


def threads_per_job(jobs: int) -> int:
    """The threads of one of several parallel runs: those of OMP_NUM_THREADS, or an equal share of the cores."""
    return environment_threads() or max((os.cpu_count() or 1) // max(jobs, 1), 1)
