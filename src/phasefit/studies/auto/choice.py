"""Which candidate it is: the yardstick, unless another is better by more than the noise. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np


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
        name: found
        for name, own in scores.items()
        if name != yardstick and (found := gain(own, base, overlap)) is not None
    }
    real = {name: found for name, found in gains.items() if found.is_real}
    if real:
        best = max(real, key=lambda name: real[name].mean)
        return Choice(best, f"better than {yardstick} by {_said(real[best])}, which is more than the noise")
    compared = {name: found for name, found in gains.items() if found.repetitions > 1}
    if not compared:
        return Choice(yardstick, "no other was compared with it more than once, and one comparison knows no noise")
    best = max(compared, key=lambda name: compared[name].mean)
    verb = "beats it" if compared[best].mean > 0 else "comes nearest"
    return Choice(yardstick, f"{best} {verb} by {_said(compared[best])}, which is within the noise")


def _said(found: Gain) -> str:
    return f"{found.mean:+.4f} (standard error {found.error:.4f}, {found.repetitions} repetitions)"
