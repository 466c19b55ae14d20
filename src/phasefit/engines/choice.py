"""The value of `--engine`: local[:N] or ray[:ADDRESS]. Imports no Ray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phasefit.errors import DataError

MOST = 256  # processes on this machine


@dataclass(frozen=True)
class EngineChoice:
    """An engine by name; `processes` of the local one, the `address` of a cluster (None: start one on this machine)."""

    name: Literal["local", "ray"] = "local"
    processes: int = 1
    address: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether work stays in one process at a time on this machine."""
        return self.name == "local" and self.processes == 1


def parse_engine(text: str) -> EngineChoice:
    """The engine of `local`, `local:N`, `ray` or `ray:HOST:PORT`; DataError for anything else."""
    head, colon, rest = text.partition(":")
    if head == "local" and not colon:
        return EngineChoice()
    if head == "local":
        if rest.isascii() and rest.isdecimal() and 1 <= int(rest[:9]) <= MOST:
            return EngineChoice("local", int(rest))
        raise DataError(f"--engine {text:.60}: the number of processes must be from 1 to {MOST}, e.g. local:2")
    if head == "ray" and not colon:
        return EngineChoice("ray")
    if head == "ray":
        host, mark, port = rest.rpartition(":")
        if host and mark and "/" not in rest and port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536:
            return EngineChoice("ray", address=rest)
        raise DataError(f"--engine {text:.60}: the address must be HOST:PORT, e.g. ray:10.0.0.1:6379")
    raise DataError(f"--engine {text:.60} is unknown; use local, local:N, ray or ray:HOST:PORT")


def study_engine(text: str, jobs: int) -> EngineChoice:
    """The engine of a study, whose `--jobs N` is short for `--engine local:N`."""
    choice = parse_engine(text)
    if jobs == 1:
        return choice
    if text != "local":
        raise DataError(f"--jobs {jobs} and --engine {text:.60} exclude each other; remove --jobs")
    return EngineChoice("local", jobs)
