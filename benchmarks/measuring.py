"""Memory of the current process in MB (10^6 bytes), and the processor. Standard library only, because rivals'
interpreters run it too.
"""

from __future__ import annotations

import platform
import re
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def resident() -> float:
    """Resident memory now."""
    return _field("VmRSS")


def peak() -> float:
    """Peak resident memory since the process started, or since `new_peak`.

    Reads VmHWM, because `getrusage` inherits the peak of the parent process.
    """
    return _field("VmHWM")


def new_peak() -> None:
    """Reset the peak."""
    CLEAR.write_text("5", encoding="ascii")


def address_space() -> int:
    """Bytes of address space in use, to which a resource limit applies."""
    return int(_field("VmSize") * 1e6)


def processor() -> str:
    """The model of the CPU; virtual machines name it vaguely, so with its family and model numbers."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or "unknown"
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    numbers = f"family {facts.get('cpu family', '?')}, model {facts.get('model', '?')}"
    return f"{facts.get('model name', platform.machine())} ({numbers})"


def _field(name: str) -> float:
    match = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
    if match is None:
        raise SystemExit(f"{STATUS} has no {name}; memory can be measured only on Linux")
    return int(match[1]) * 1024 / 1e6
