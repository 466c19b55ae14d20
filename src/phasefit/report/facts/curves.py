"""Training curves: the loss and the watched score of each phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.registry import metric_at

Floats = NDArray[np.float64]
Entries = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class PhaseCurve:
    """One phase: the finite losses by step, and the scores of each evaluation by name."""

    name: str
    steps: int
    loss_steps: Floats
    losses: Floats
    non_finite: int  # number of losses that are not finite
    validated: Floats  # the steps of the evaluations
    scores: Mapping[str, Floats]  # at those steps, NaN where missing; the watched one first
    kept: int | None  # index of the evaluation whose weights were kept

    @property
    def watched(self) -> str:
        """The score that decides which weights are kept."""
        return next(iter(self.scores))

    @property
    def kept_step(self) -> int | None:
        """The step whose weights were kept."""
        return None if self.kept is None else int(self.validated[self.kept])

    @property
    def smooth(self) -> Floats:
        """The running mean of the losses."""
        return running_mean(self.losses, max(1, len(self.losses) // 20))

    @property
    def kept_score(self) -> float | None:
        """The watched score of the weights that were kept."""
        score = np.nan if self.kept is None else self.scores[self.watched][self.kept]
        return None if np.isnan(score) else float(score)

    @property
    def when_kept(self) -> str:
        """The step whose weights were kept, in words."""
        step = self.kept_step or 0
        return f"after {step:,} step{'' if step == 1 else 's'}" if step else "before the first step"


def phase_curves(history: Entries) -> list[PhaseCurve]:
    """The phases of `history.json`, in order."""
    phases = dict.fromkeys(str(entry["phase"]) for entry in history)
    return [_curve(phase, [entry for entry in history if str(entry["phase"]) == phase]) for phase in phases]


def _curve(name: str, entries: Entries) -> PhaseCurve:
    losses = [(entry["step"], entry["loss"]) for entry in entries if entry.get("loss") is not None]
    known = [pair for pair in losses if np.isfinite(pair[1])]
    at, loss = np.array(known, dtype=np.float64).reshape(-1, 2).T
    validations = [entry for entry in entries if entry.get("scores")]
    names = dict.fromkeys([_watched(validations)] if validations else [])
    names |= dict.fromkeys(score for entry in validations for score in entry["scores"])
    return PhaseCurve(
        name,
        max((int(entry["step"]) for entry in entries), default=0),
        at,
        loss,
        len(losses) - len(known),
        np.array([entry["step"] for entry in validations], dtype=np.float64),
        {score: np.array([entry["scores"].get(score, np.nan) for entry in validations], float) for score in names},
        max((place for place, entry in enumerate(validations) if entry.get("improved")), default=None),
    )


def _watched(validations: Entries) -> str:
    """Return the watched score, or the first one if that is not recorded."""
    return str(validations[-1].get("watch") or next(iter(validations[-1]["scores"])))


def score_ranges(curves: Sequence[PhaseCurve]) -> dict[str, tuple[float, float]]:
    """Return one range for each watched score, so that phases with the same score are drawn on the same scale."""
    seen: dict[str, list[float]] = {}
    for curve in curves:
        if curve.scores:
            scores = curve.scores[curve.watched]
            seen.setdefault(curve.watched, []).extend(scores[np.isfinite(scores)].tolist())
    ranges = {}
    for watched, values in seen.items():
        if values:
            margin = max(0.12 * (max(values) - min(values)), 0.01 * abs(max(values)), 1e-3)
            ranges[watched] = (min(values) - margin, max(values) + margin)
    return ranges


def running_mean(values: Floats, width: int) -> Floats:
    """Return the mean of the last `width` values at each position, of fewer at the start."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - width, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


@dataclass(frozen=True)
class PhaseResult:
    """The cost of a phase, and the score of its kept weights if it was evaluated."""

    name: str
    steps: int | None
    seconds: float | None
    best: Mapping[str, float]
    stopped_early: bool
    reverted: bool = False  # no evaluation was better than the one before the first step
    share: float = 1.0  # of the trained weights in the encoder that it left
    skipped: bool = False  # its score was high enough before the first step

    @property
    def kept(self) -> str:
        """The score of the kept weights, in words."""
        scores = [f"{metric_at(name).title} {value:.4f}{self.remark}".strip() for name, value in self.best.items()]
        return scores[0] if len(scores) == 1 else "not validated"

    @property
    def remark(self) -> str:
        """How the phase ended, to be appended to its score."""
        return ", stopped early" * (self.stopped_early and not self.reverted and not self.skipped) + self.changes

    @property
    def changes(self) -> str:
        """What is left of the training, to be appended to its score."""
        if self.skipped:
            return ", skipped"
        return ", no improvement, changes discarded" if self.reverted else self.blended

    @property
    def blended(self) -> str:
        """How much of the encoder comes from before the phase, to be appended to its score."""
        return "" if self.share == 1 else f", blended with {1 - self.share:.0%} of the weights before the phase"


def phase_results(phases: Entries) -> list[PhaseResult]:
    """Read `phases` of `metrics.json`; if the watched score is not recorded, keep all scores."""
    results = []
    for phase in phases:
        best, watch = phase.get("best"), str(phase.get("watch") or "")
        if not isinstance(best, Mapping):
            best = {} if best is None else {watch: best}
        best = {watch: best[watch]} if watch in best else best
        blend = phase.get("blend")
        share = blend.get("share") if isinstance(blend, Mapping) else None
        result = PhaseResult(
            str(phase["name"]),
            phase.get("steps"),
            phase.get("seconds"),
            best,
            stopped_early=bool(phase.get("stopped_early")),
            reverted=bool(phase.get("reverted")),
            share=1.0 if share is None else float(share),
            skipped=bool(phase.get("skipped")),
        )
        results.append(result)
    return results
