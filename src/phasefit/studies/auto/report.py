"""The result of `--recipe auto` as plain data, as auto.md and auto.json, and as a table for the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from phasefit.recipes.settings import setting_lines
from phasefit.studies.auto.candidates import REFERENCE, Candidate, DataFacts
from phasefit.studies.auto.halving import Choice, folds_for, rounds_for

HEADINGS = ("round", "candidate", "on", "score", "minutes", "kept", "why")


@dataclass(frozen=True)
class Entry:
    """One candidate in one round; `score` is None if time ran out."""

    round: int
    candidate: str
    on: str  # description of the rows or folds
    score: float | None
    seconds: float
    kept: bool
    why: str


@dataclass
class AutoResult:
    """Everything that led to a choice."""

    facts: DataFacts
    score: str  # the metric that decides
    minutes: float
    seed: int
    jobs: int
    candidates: list[Candidate]
    entries: list[Entry] = field(default_factory=list)
    choice: Choice | None = None
    chosen: Candidate | None = None
    seconds: float = 0.0
    whole: bool = True  # whether all rounds fit into the time
    folder: str = ""
    left_out: list[str] = field(default_factory=list)  # candidates that --set makes pointless, with reasons

    def to_json(self) -> dict[str, Any]:
        """Content for auto.json."""
        return {
            "chosen": None if self.chosen is None else self.chosen.to_json(),
            "why": "" if self.choice is None else self.choice.why,
            "score": self.score,
            "minutes": self.minutes,
            "seconds_of_choosing": round(self.seconds, 1),
            "all_rounds": self.whole,
            "seed": self.seed,
            "jobs": self.jobs,
            "data": asdict(self.facts),
            "candidates": [one.to_json() for one in self.candidates],
            "left_out": self.left_out,
            "tried": [asdict(entry) for entry in self.entries],
        }


def table_rows(result: AutoResult) -> list[list[str]]:
    """One row per candidate and round."""
    return [
        [
            str(entry.round),
            entry.candidate,
            entry.on,
            "-" if entry.score is None else f"{entry.score:.4f}",
            f"{entry.seconds / 60:.1f}",
            "yes" if entry.kept else "no",
            entry.why,
        ]
        for entry in result.entries
    ]


def conclusion(result: AutoResult) -> str:
    """The choice, its reason, and whether time ran out."""
    name = REFERENCE if result.chosen is None else result.chosen.name
    why = "" if result.choice is None else f"; {result.choice.why}"
    cut = (
        ""
        if result.whole or not result.entries
        else " Time ran out before everything was tried; more --minutes may change the choice."
    )
    return f"Chosen: {name}{why}.{cut}"


def plan_lines(facts: DataFacts, candidates: Sequence[Candidate], minutes: float) -> list[str]:
    """The data, the rounds and the time limit, one line each."""
    folds = folds_for(facts.rows)
    rounds = " -> ".join(one.sentence(folds) for one in rounds_for(facts.rows, facts.classes))
    return [
        f"data: {facts.sentence()}; test rows are not used",
        f"rounds: {rounds}; after each round finetune and the best third of the others remain",
        f"time limit: {minutes:g} minutes including the final training; whatever does not fit is skipped",
    ]


def as_json(result: AutoResult) -> str:
    """Text of auto.json."""
    return json.dumps(result.to_json(), indent=2, ensure_ascii=False) + "\n"


def as_markdown(result: AutoResult, command: str) -> str:
    """Text of auto.md."""
    plan = plan_lines(result.facts, result.candidates, result.minutes)
    lines = ["# How the recipe was chosen", "", f"    {command}", "", conclusion(result), ""]
    lines += [f"- {line}" for line in plan]
    lines += [f"- scores: {result.score} on held-out training rows; choosing took {result.seconds / 60:.1f} minutes"]
    lines += ["", f"| {' | '.join(HEADINGS)} |", "|-:|-|-|-:|-:|-|-|"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in table_rows(result)]
    lines += ["", "Candidates:", ""]
    for one in result.candidates:
        settings = f" ({', '.join(setting_lines(one.settings))})" if one.settings else ""
        lines.append(f"- {one.name}: {one.recipe}{settings}; {one.why}")
    if result.left_out:
        lines += ["", "Left out:", "", *(f"- {line}" for line in result.left_out)]
    return "\n".join([*lines, ""])
