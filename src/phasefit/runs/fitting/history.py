"""history.json: the loss of every step and the scores of every evaluation, as plain rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from phasefit.events import Event, Scored, StepDone


class History:
    """Steps and evaluations in order."""

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        self.rows: list[dict[str, Any]] = list(rows)

    @property
    def steps(self) -> int:
        """Steps taken so far, of all phases together."""
        return sum("loss" in row for row in self.rows)

    def add(self, event: Event) -> None:
        """Add a step or an evaluation; other events are ignored."""
        if isinstance(event, StepDone):
            row = {"phase": event.phase, "step": event.step, "loss": event.loss, "lr": event.lr}
            self.rows.append(row | ({"scalars": event.scalars} if event.scalars else {}))
        elif isinstance(event, Scored):
            self.rows.append(
                {
                    "phase": event.phase,
                    "step": event.step,
                    "scores": event.scores,
                    "watch": event.watch,
                    "improved": event.improved,
                }
            )

    def first_score(self, phase: str, name: str) -> float | None:
        """The score of a phase before its first step; None if it was not evaluated there."""
        for row in self.rows:
            if row["phase"] == phase and row["step"] == 0 and name in row.get("scores", {}):
                return float(row["scores"][name])
        return None
