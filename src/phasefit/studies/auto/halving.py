"""Successive halving as pure functions: the rounds, the survivors, what fits into the time, the choice.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

FACTOR = 3  # from round to round the resource grows by this factor, and one candidate in FACTOR survives
FEW = 500  # rows: with fewer, the resource is the number of folds; with more, the number of rows
LEAST = 250  # rows: scores of smaller rounds mean nothing
PER_CLASS = 8
MOST = 20_000  # rows: more only take longer
FOLDS, FEW_FOLDS, TINY = 5, 3, 60
REPEATS = 3
FINALISTS = 2  # in addition to the reference
MARGIN = 1.3  # times were measured on other rows and a busy machine


@dataclass(frozen=True)
class Round:
    """A number of training rows and of repeated splits."""

    rows: int
    repeats: int
    whole: bool  # uses all available rows: the final choice is based on such rounds

    def sentence(self, folds: int | None) -> str:
        """Description for the plan and the table."""
        if folds is not None:
            return f"fold{'s 1 to' if self.repeats > 1 else ''} {self.repeats} of {folds}"
        return f"{self.rows:,} rows" + (f", {self.repeats} splits" if self.repeats > 1 else "")


def folds_for(rows: int) -> int | None:
    """Number of folds to cross-validate with; None if there are enough rows for splits."""
    return None if rows >= FEW else FOLDS if rows >= TINY else FEW_FOLDS


def rounds_for(rows: int, classes: int) -> list[Round]:
    """Rounds from few rows or folds to all of them."""
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
    """Names from best to worst; ties keep their order, so that the cheaper candidate comes first."""
    order = list(scores)
    return sorted(scores, key=lambda name: (-scores[name], order.index(name)))


def survivors(scores: Mapping[str, float], reference: str, *, last: bool) -> list[str]:
    """A third of the challengers plus the reference, in their order; before the last round at most the finalists."""
    challengers = [name for name in ranked(scores) if name != reference]
    number = max(ceil(len(challengers) / FACTOR), FINALISTS)
    kept = {*challengers[: min(number, FINALISTS) if last else number], reference}
    return [name for name in scores if name in kept]


def predicted(seconds: float, rows: int, wanted: int) -> float:
    """Seconds that `wanted` rows would take, extrapolated from `rows`; fewer rows are not assumed to be faster."""
    return seconds * max(wanted / max(rows, 1), 1.0) * MARGIN


def share(seconds: float, rounds: int) -> float:
    """The time of one of the remaining rounds: equal parts, because later rounds have fewer candidates."""
    return seconds / max(rounds, 1)


def affordable(
    ordered: Sequence[str], costs: Mapping[str, float], finals: Mapping[str, float], left: float, jobs: int
) -> list[str]:
    """The candidates that fit into the time left, including the final run of the slowest; the first is always kept.

    `ordered` starts with the reference, followed by the others from best to worst.
    """
    kept = list(ordered)
    while len(kept) > 1:
        slowest = max(finals[name] for name in kept)
        if max(sum(costs[name] for name in kept) / jobs, max(costs[name] for name in kept)) + slowest <= left:
            return kept
        kept.pop()
    return kept


@dataclass(frozen=True)
class Gain:
    """Mean paired gain over the reference and its standard error."""

    mean: float
    error: float
    repetitions: int

    @property
    def is_real(self) -> bool:
        """Whether the gain exceeds one standard error; a single repetition has no standard error."""
        return self.repetitions > 1 and self.mean > self.error and self.mean > 0


@dataclass(frozen=True)
class Choice:
    """The chosen candidate and the reason."""

    name: str
    why: str


def gain(scores: Mapping[int, float], base: Mapping[int, float], overlap: float) -> Gain | None:
    """Paired gain over the repetitions that both have.

    `overlap` is the number of held-out rows per training row: repetitions share rows (Nadeau and Bengio, 2003).
    """
    both = [number for number in scores if number in base]
    if not both:
        return None
    differences = np.array([scores[number] - base[number] for number in both])
    spread = float(np.std(differences, ddof=1)) if len(both) > 1 else 0.0
    return Gain(float(differences.mean()), spread * sqrt(1 / len(both) + overlap), len(both))


def choose(scores: Mapping[str, Mapping[int, float]], reference: str, overlap: float) -> Choice:
    """The challenger with the largest real gain on all rows; the reference if no gain is real.

    `scores` must not contain eliminated candidates: with fewer repetitions they could win by luck.
    """
    base = scores.get(reference, {})
    gains = {
        name: difference
        for name, own in scores.items()
        if name != reference and (difference := gain(own, base, overlap)) is not None
    }
    real = {name: one for name, one in gains.items() if one.is_real}
    if real:
        best = max(real, key=lambda name: real[name].mean)
        return Choice(best, f"better than {reference} by {_describe(real[best])}, which is more than noise")
    compared = {name: one for name, one in gains.items() if one.repetitions > 1}
    if not compared:
        return Choice(reference, "no candidate was compared with it more than once, so the noise is unknown")
    best = max(compared, key=lambda name: compared[name].mean)
    if compared[best].mean > 0:
        return Choice(reference, f"{best} is better by {_describe(compared[best])}, which is within noise")
    return Choice(reference, f"no candidate is better; {best} comes closest with {_describe(compared[best])}")


def choose_once(scores: Mapping[str, float], reference: str, noise: float) -> Choice:
    """The best after a single comparison, unless its lead over the reference is within noise.

    `noise` is the standard error of a score on the held-out rows. What was measured counts: without a score of the
    reference, the best of the others is chosen.
    """
    best, number = ranked(scores)[0], f"{len(scores)} candidate{'s' * (len(scores) != 1)}"
    if reference not in scores:
        return Choice(
            best, f"with {scores[best]:.4f} the best of {number} measured; {reference} did not finish in the time"
        )
    lead = scores[best] - scores[reference]
    if best == reference:
        return Choice(reference, f"with {scores[best]:.4f} the best of {number}, measured once")
    if lead <= noise:
        return Choice(reference, f"{best} is better by {lead:+.4f}, measured once, which is within noise ({noise:.4f})")
    return Choice(
        best, f"better than {reference} by {lead:+.4f}, measured once, which is more than noise ({noise:.4f})"
    )


def _describe(one: Gain) -> str:
    return f"{one.mean:+.4f} (standard error {one.error:.4f}, {one.repetitions} repetitions)"
