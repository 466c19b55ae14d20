"""What was tried, as plain data: one entry for each candidate in each round."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from phasefit.studies.auto.candidates import Candidate
from phasefit.studies.auto.choice import Choice
from phasefit.studies.auto.facts import DataFacts


@dataclass(frozen=True)
class Entry:
    """A candidate in a round; `score` is None where time was up."""

    round: int
    candidate: str
    on: str  # rows or folds, in words
    score: float | None
    seconds: float
    kept: bool
    why: str


@dataclass
class Tried:
    """The whole story of a choice."""

    facts: DataFacts
    score: str  # what it went by
    minutes: float
    seed: int
    jobs: int
    candidates: list[Candidate]
    entries: list[Entry] = field(default_factory=list)
    choice: Choice | None = None
    chosen: Candidate | None = None
    seconds: float = 0.0
    whole: bool = True  # whether time was enough for all rounds
    folder: str = ""
    left_out: list[str] = field(default_factory=list)  # candidates that --set makes pointless, and why

    def to_json(self) -> dict[str, Any]:
        """For auto.json."""
        return {
            "chosen": None if self.chosen is None else asdict(self.chosen),
            "why": "" if self.choice is None else self.choice.why,
            "score": self.score,
            "minutes": self.minutes,
            "seconds_of_choosing": round(self.seconds, 1),
            "all_rounds": self.whole,
            "seed": self.seed,
            "jobs": self.jobs,
            "data": asdict(self.facts),
            "candidates": [asdict(one) for one in self.candidates],
            "left_out": self.left_out,
            "tried": [asdict(entry) for entry in self.entries],
        }
