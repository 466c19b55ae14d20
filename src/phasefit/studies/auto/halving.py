"""Successive halving as plain functions: which rounds there are, who stays, what can be afforded, who wins.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

FACTOR = 3  # the resource grows by it from round to round, and one of so many stays
FEW = 500  # rows: below, folds of all rows are the resource; above, it is the number of rows
LEAST = 250  # rows that say anything at all
PER_CLASS = 8
MOST = 20_000  # rows: more would only take longer
FOLDS, FEW_FOLDS, TINY = 5, 3, 60
REPEATS = 3
FINALISTS = 2  # beside the yardstick
MARGIN = 1.3  # measured times are of other rows and of a busy machine


@dataclass(frozen=True)
class Round:
    """So many training rows, split so many times."""

    rows: int
    repeats: int
    whole: bool  # all rows that may be used: what candidates are chosen by in the end

    def sentence(self, folds: int | None) -> str:
        """In words."""
        if folds is not None:
            return f"fold{'s 1 to' if self.repeats > 1 else ''} {self.repeats} of {folds}"
        return f"{self.rows:,} rows" + (f", {self.repeats} splits" if self.repeats > 1 else "")


def folds_for(rows: int) -> int | None:
    """How many folds to cross-validate with; None where rows are many enough for splits."""
    return None if rows >= FEW else FOLDS if rows >= TINY else FEW_FOLDS


def rounds_for(rows: int, classes: int) -> list[Round]:
    """From a look at little to a comparison on all."""
    folds = folds_for(rows)
    if folds is not None:
        repeats = [1, *([FEW_FOLDS] if folds > FEW_FOLDS else []), folds]
        return [Round(rows, number, whole=True) for number in repeats]
    full = min(rows, MOST)
    smaller = [full // FACTOR**power for power in (3, 2, 1)]
    least = max(LEAST, PER_CLASS * classes)
    early = [Round(some, 1, whole=False) for some in smaller if some >= least]
    return [*early, Round(full, 1, whole=True), Round(full, REPEATS, whole=True)]


def ranked(scores: Mapping[str, float]) -> list[str]:
    """The best first; of equals the one that was named first, which is the cheaper."""
    order = list(scores)
    return sorted(scores, key=lambda name: (-scores[name], order.index(name)))


def survivors(scores: Mapping[str, float], yardstick: str, *, last: bool) -> list[str]:
    """A third of the challengers and the yardstick, in the order they came; no more than the finalists at the last."""
    challengers = [name for name in ranked(scores) if name != yardstick]
    number = max(ceil(len(challengers) / FACTOR), FINALISTS)
    kept = {*challengers[: min(number, FINALISTS) if last else number], yardstick}
    return [name for name in scores if name in kept]


def predicted(seconds: float, rows: int, wanted: int) -> float:
    """What so many rows take, from what fewer took; shorter runs have a part that does not shrink."""
    return seconds * max(wanted / max(rows, 1), 1.0) * MARGIN


def share(seconds: float, rounds: int) -> float:
    """What one of so many rounds has of the time: an equal part, because later ones have fewer candidates."""
    return seconds / max(rounds, 1)


def affordable(
    ordered: Sequence[str], costs: Mapping[str, float], finals: Mapping[str, float], left: float, jobs: int
) -> list[str]:
    """As many as the time left is enough for, with the final run of the dearest of them; the first always stays.

    `ordered` has the yardstick first and then the best first.
    """
    kept = list(ordered)
    while len(kept) > 1:
        dearest = max(finals[name] for name in kept)
        if max(sum(costs[name] for name in kept) / jobs, max(costs[name] for name in kept)) + dearest <= left:
            return kept
        kept.pop()
    return kept


@dataclass(frozen=True)
class Gain:
    """How much better than the yardstick, repetition by repetition, and the standard error of that."""

    mean: float
    error: float
    repetitions: int

    @property
    def is_real(self) -> bool:
        """More than one standard error; one repetition knows none."""
        return self.repetitions > 1 and self.mean > self.error and self.mean > 0


@dataclass(frozen=True)
class Choice:
    """The candidate and why."""

    name: str
    why: str


def gain(scores: Mapping[int, float], base: Mapping[int, float], overlap: float) -> Gain | None:
    """Paired over the repetitions that both have; `overlap`: held-out rows per training row, because repetitions share
    rows (Nadeau and Bengio, 2003)."""
    both = [number for number in scores if number in base]
    if not both:
        return None
    differences = np.array([scores[number] - base[number] for number in both])
    spread = float(np.std(differences, ddof=1)) if len(both) > 1 else 0.0
    return Gain(float(differences.mean()), spread * sqrt(1 / len(both) + overlap), len(both))


def choose(scores: Mapping[str, Mapping[int, float]], yardstick: str, overlap: float) -> Choice:
    """The challenger with the largest real gain on all rows; the yardstick where there is none.

    `scores` has nobody who was eliminated: with fewer repetitions luck weighs more.
    """
    base = scores.get(yardstick, {})
    gains = {
        name: difference
        for name, own in scores.items()
        if name != yardstick and (difference := gain(own, base, overlap)) is not None
    }
    real = {name: one for name, one in gains.items() if one.is_real}
    if real:
        best = max(real, key=lambda name: real[name].mean)
        return Choice(best, f"better than {yardstick} by {_in_words(real[best])}, which is more than the noise")
    compared = {name: one for name, one in gains.items() if one.repetitions > 1}
    if not compared:
        return Choice(yardstick, "no other was compared with it more than once, and one comparison knows no noise")
    best = max(compared, key=lambda name: compared[name].mean)
    verb = "beats it" if compared[best].mean > 0 else "comes nearest"
    return Choice(yardstick, f"{best} {verb} by {_in_words(compared[best])}, which is within the noise")


def _in_words(one: Gain) -> str:
    return f"{one.mean:+.4f} (standard error {one.error:.4f}, {one.repetitions} repetitions)"
