"""The most memory that a process has held."""

from __future__ import annotations

import re
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_megabytes() -> float:
    """In MB of 10^6 bytes. On Linux VmHWM and not `getrusage`, which inherits the peak of whoever started it."""
    if STATUS.is_file():
        found = re.search(r"^VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
        if found is not None:
            return int(found[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:  # a system without it
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
