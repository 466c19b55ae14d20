"""Events that a running job sends to its listeners: plain data without torch, for terminals, logs and trackers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Note:
    """A sentence for the user: a decision, a count or something skipped. `warning` marks what is worth checking."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class PhaseStarted:
    """A phase starts; `steps` is its maximum (early stopping may end it sooner)."""

    phase: str
    index: int  # 1-based position in the recipe
    phases: int
    steps: int
    watch: str  # the score that selects the best weights, e.g. "macro_f1"
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
    """An evaluation on validation data; `improved` means that these weights are the best so far."""

    phase: str
    step: int
    epoch: float
    scores: dict[str, float]
    watch: str
    improved: bool


@dataclass(frozen=True)
class PhaseEnded:
    """A phase has ended and its best weights are restored."""

    phase: str
    steps: int
    seconds: float
    best_step: int
    best: dict[str, float]  # scores at the best step
    stopped_early: bool
    watch: str = ""  # the score that selected the best step
    planned_steps: int = 0  # steps that the learning rate schedule was planned for
    evaluation: dict[str, int] = field(default_factory=dict)  # rows of an evaluation, of how many, every how many steps
    reverted: bool = False  # no evaluation was better than the one before the first step, whose weights are restored
    choices: dict[str, Any] = field(default_factory=dict)  # average, blend, ridge or rounds, if the phase chose them


@dataclass(frozen=True)
class Stage:
    """A part of the job other than a phase starts: reading, tokenising, evaluating, refitting, saving."""

    name: str


Event: TypeAlias = Note | PhaseStarted | StepDone | Scored | PhaseEnded | Stage
Listener: TypeAlias = Callable[[Event], None]
