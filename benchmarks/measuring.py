"""What a process holds in memory, in MB of 10^6 bytes. Standard library only: a rival's interpreter reads it too."""

from __future__ import annotations

import re
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def resident() -> float:
    """Resident memory now."""
    return _field("VmRSS")


def peak() -> float:
    """The most resident memory since the process began, or since `new_peak`.

    Linux's VmHWM and not `getrusage`: that one inherits the peak of the process that started this one.
    """
    return _field("VmHWM")


def new_peak() -> None:
    """Forget the peak so far: what follows is measured by itself."""
    CLEAR.write_text("5", encoding="ascii")


def address_space() -> int:
    """Bytes of address space in use, which is what a limit counts."""
    return int(_field("VmSize") * 1e6)


def _field(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{STATUS} has no {name}; memory is measured on Linux only")
    return int(found[1]) * 1024 / 1e6
