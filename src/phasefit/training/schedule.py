"""The number of steps of a phase, its evaluations, and its learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, cos, pi

from phasefit.phases.options import PhaseOptions

LONGEST_WAIT = 500  # steps between two evaluations, however long an epoch is
MOST_EVALUATIONS = 40  # per phase, however short an epoch is


@dataclass(frozen=True)
class Schedule:
    """Steps are counted from 1; `total` is their maximum number."""

    total: int
    per_epoch: int
    every: int
    shape: str
    warmup: int
    soup: int = 1  # the steps are those of this many trainings, one after another

    @classmethod
    def of(cls, options: PhaseOptions, batches: int, total: int | None = None) -> Schedule:
        """The schedule of a phase with this many batches per epoch; `total` overrides the number of steps."""
        per_epoch = max(ceil(batches / options.accumulate), 1)
        if total is None:
            total = max(ceil(options.epochs * per_epoch), options.min_steps)
            total = min(total, options.max_steps or total) * options.soup
        if options.soup > 1:  # the average of all trainings is evaluated, not each of them
            return cls(total, per_epoch, total, options.schedule, round(options.warmup * total), options.soup)
        usual = max(min(per_epoch, LONGEST_WAIT), ceil(total / MOST_EVALUATIONS))
        every = usual if options.evaluate_every == "auto" else options.evaluate_every
        return cls(total, per_epoch, every, options.schedule, round(options.warmup * total))

    def factor(self, step: int, segment: tuple[int, int] | None = None) -> float:
        """The factor of the learning rate at this step, or at a position in a segment of this length."""
        if segment is not None:
            position, length = segment
            warmup = round(self.warmup * length / self.total)
            return Schedule(length, self.per_epoch, self.every, self.shape, warmup).factor(position)
        if step <= self.warmup:
            return step / max(self.warmup, 1)
        if self.shape == "constant":
            return 1.0
        done = (step - 1 - self.warmup) / max(self.total - self.warmup, 1)
        return 1.0 - done if self.shape == "linear" else 0.5 * (1.0 + cos(pi * done))

    def segment(self, step: int) -> tuple[int, int] | None:
        """The position of a step in its training and the steps of that training; None: there is only one training."""
        length = self.total // self.soup
        return None if self.soup == 1 else ((step - 1) % length + 1, length)

    def evaluates(self, step: int) -> bool:
        """Whether to evaluate after this step."""
        return step % self.every == 0 or step == self.total
