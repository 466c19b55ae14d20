"""progress.jsonl: every look of a running cell at its validation score, written by its process and read by the study's.

Imports no torch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.events import Scored

PROGRESS = "progress.jsonl"


@dataclass(frozen=True)
class Look:
    """The scores of a phase after so many epochs."""

    phase: str
    step: int
    epoch: float
    scores: dict[str, float]
    watch: str


def add_look(path: Path, event: Scored) -> None:
    """Append one line."""
    look = {"phase": event.phase, "step": event.step, "epoch": event.epoch, "scores": event.scores}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(look | {"watch": event.watch}) + "\n")


def read_looks(path: Path, phase: str) -> list[Look]:
    """The looks of a phase in order; one that was taken twice, because the cell went on after a stop, counts once."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = {look.step: look for line in lines if (look := _look(line)) is not None and look.phase == phase}
    return [found[step] for step in sorted(found)]


def _look(line: str) -> Look | None:
    """A line that is being written is not whole yet."""
    try:
        content: dict[str, Any] = json.loads(line)
        return Look(**content)
    except (ValueError, TypeError):
        return None
