"""`phasefit train` as several processes that train together."""

from __future__ import annotations

import socket
from pathlib import Path

from killing import Nursery


class Group:
    """`phasefit train` as all ranks of a group; `signals`: who sends itself which signal, after how many steps."""

    def __init__(
        self, nursery: Nursery, folder: Path, *words: str, signals: dict[int, tuple[int, int]], count: int = 2
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        self._nursery, self._outputs = nursery, [folder / f"output-{rank}.txt" for rank in range(count)]
        self.processes = [
            nursery.start(
                *("train", "--quiet", *words),
                output=self._outputs[rank],
                signal=signals.get(rank),
                **shared,
                ACCELERATE_USE_CPU="1",
                RANK=str(rank),
                LOCAL_RANK=str(rank),
            )
            for rank in range(count)
        ]

    def wait(self) -> list[int]:
        """All exit codes."""
        return [self._nursery.wait(process) for process in self.processes]

    @property
    def outputs(self) -> list[str]:
        """The output of each."""
        return [output.read_text(encoding="utf-8") for output in self._outputs]
