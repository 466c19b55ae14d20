"""What a running job tells whoever listens: plain data, no torch, so that a terminal, a log and a tracker share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Note:
    """A sentence for the user: what was decided, counted or skipped. `warning` marks what deserves a look."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class PhaseStarted:
    """A phase begins; `steps` is the most it can take (early stopping may end it sooner)."""

    phase: str
    index: int  # 1-based position in the recipe
    phases: int
    steps: int
    watch: str  # the score it watches, e.g. "macro_f1"
    facts: dict[str, float] = field(default_factory=dict)  # rows, pairs, parameters ...


@dataclass(frozen=True)
class StepDone:
    """One optimiser step."""

    phase: str
    step: int
    steps: int
    epoch: float
    loss: float
    lr: float
    seconds: float  # of this step
    scalars: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scored:
    """The phase looked at its validation score; `improved` means that its weights are now the ones to keep."""

    phase: str
    step: int
    epoch: float
    scores: dict[str, float]
    watch: str
    improved: bool


@dataclass(frozen=True)
class PhaseEnded:
    """A phase is over and its best weights are in place."""

    phase: str
    steps: int
    seconds: float
    best_step: int
    best: dict[str, float]  # scores at the best step
    stopped_early: bool
    watch: str = ""  # which of them was watched
    planned_steps: int = 0  # what the learning rate's schedule was made for


@dataclass(frozen=True)
class Stage:
    """A part of the job that is not a phase has begun: reading, tokenising, evaluating, refitting, saving."""

    name: str


Event: TypeAlias = Note | PhaseStarted | StepDone | Scored | PhaseEnded | Stage
Listener: TypeAlias = Callable[[Event], None]
