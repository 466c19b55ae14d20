"""A choice in words: auto.md and auto.json, and the rows of the table on the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence

from phasefit.studies.auto.candidates import YARDSTICK, Candidate
from phasefit.studies.auto.facts import DataFacts
from phasefit.studies.auto.halving import folds_for, rounds_for
from phasefit.studies.auto.record import Tried

HEADINGS = ("round", "candidate", "on", "score", "minutes", "kept", "why")


def table_rows(tried: Tried) -> list[list[str]]:
    """What was tried, a line for each candidate and round."""
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
        for entry in tried.entries
    ]


def conclusion(tried: Tried) -> str:
    """The choice, why, and whether time cut it short."""
    name = YARDSTICK if tried.chosen is None else tried.chosen.name
    why = "" if tried.choice is None else f": {tried.choice.why}"
    cut = "" if tried.whole else " Time was up before all was tried: more --minutes may choose otherwise."
    return f"Chosen: {name}{why}.{cut}"


def plan_lines(facts: DataFacts, candidates: Sequence[Candidate], minutes: float) -> list[str]:
    """What would be tried, and on what."""
    folds = folds_for(facts.rows)
    rounds = " -> ".join(one.sentence(folds) for one in rounds_for(facts.rows, facts.classes))
    return [
        f"auto has {facts.sentence()}; the test rows are left alone",
        f"rounds: {rounds}; a third of the candidates stays after each, finetune always",
        f"{minutes:g} minutes are for all of it, the final training included; time decides how far it gets",
    ]


def as_json(tried: Tried) -> str:
    """auto.json."""
    return json.dumps(tried.to_json(), indent=2, ensure_ascii=False) + "\n"


def as_markdown(tried: Tried, command: str) -> str:
    """auto.md."""
    plan = plan_lines(tried.facts, tried.candidates, tried.minutes)
    lines = ["# How the recipe was chosen", "", f"    {command}", "", conclusion(tried), ""]
    lines += [f"- {line}" for line in plan]
    lines += [f"- scores are {tried.score} of held-out training rows, choosing took {tried.seconds / 60:.1f} minutes"]
    lines += ["", f"| {' | '.join(HEADINGS)} |", "|-:|-|-|-:|-:|-|-|"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in table_rows(tried)]
    lines += ["", "Candidates:", ""]
    for one in tried.candidates:
        said = f" ({', '.join(one.settings)})" if one.settings else ""
        lines.append(f"- {one.name}: {one.recipe}{said}; {one.why}")
    if tried.left_out:
        lines += ["", "Left out:", "", *(f"- {line}" for line in tried.left_out)]
    return "\n".join([*lines, ""])
