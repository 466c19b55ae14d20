"""The headline scores of a run, and every score of every split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phasefit.kinds import kind_of_metrics
from phasefit.metrics.registry import INTERVAL, METRICS, titles
from phasefit.report.text import number

Scored = Mapping[str, Any]  # the metrics of one split of one task


@dataclass(frozen=True)
class Score:
    """A score and its 95 % interval, if it has one."""

    title: str
    value: int | float
    interval: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """The score, with the interval in parentheses."""
        span = f" ({self.interval[0]:.4f} to {self.interval[1]:.4f})" if self.interval else ""
        return number(self.value) + span


@dataclass(frozen=True)
class ScoreRow:
    """One score in all splits; None in splits without it."""

    title: str
    splits: list[Score | None]


def headline_scores(scored: Scored) -> list[Score]:
    """Return the headline scores of the label kind."""
    names = kind_of_metrics(scored).headline
    scores = (_score(scored, name, METRICS[name].title) for name in names)
    return [score for score in scores if score is not None]


def all_scores(splits: Mapping[str, Scored]) -> list[ScoreRow]:
    """Return every score, then those of each level of a tree."""
    named = titles()
    rows = [_row(title, name, list(splits.values())) for name, title in named.items()]
    depth = max((len(scored.get("levels", ())) for scored in splits.values()), default=0)
    for level in range(depth):
        own = [dict(*scored.get("levels", [])[level : level + 1]) for scored in splits.values()]
        names = dict.fromkeys(name for scored in own for name in scored)
        rows += [_row(f"{named[name]} at level {level + 1}", name, own) for name in names]
    return [row for row in rows if any(row.splits)]


def _row(title: str, name: str, splits: Sequence[Scored]) -> ScoreRow:
    return ScoreRow(title, [_score(scored, name, title) for scored in splits])


def _score(scored: Scored, name: str, title: str) -> Score | None:
    if not isinstance(scored.get(name), int | float):
        return None
    span = scored.get(name + INTERVAL)
    return Score(title, scored[name], (float(span[0]), float(span[1])) if span else None)
