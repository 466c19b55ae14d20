"""What a phase computes outside its steps: scores and solved heads, in the main process for all processes."""

from __future__ import annotations

import warnings
from typing import TypeVar

from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from phasefit.models.solved_head import Solution
from phasefit.objectives import NothingToLearn
from phasefit.phases.contract import Phase

T = TypeVar("T")


def scores_of(phase: Phase, accelerator: Accelerator) -> dict[str, float]:
    """Evaluate in the main process only: if scores differed by rounding, one process could stop and the others hang."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingToLearn)  # few validation rows may have no positives
        scores = phase.validate() if accelerator.is_main_process else {}
    shared, phase.contributions = from_main_process(accelerator, (scores, phase.contributions))
    return shared


def solve(phase: Phase, accelerator: Accelerator, ridge: float | None = None) -> dict[str, Solution]:
    """Solve heads that need no steps, in the main process for all: rounding must not make the processes differ."""
    solutions = phase.solutions(ridge) if accelerator.is_main_process else {}
    shared = from_main_process(accelerator, solutions)
    phase.set_solutions(shared)
    return shared


def from_main_process(accelerator: Accelerator, value: T) -> T:
    """The value of the main process."""
    shared = [value]
    if accelerator.num_processes > 1:
        broadcast_object_list(shared)
    return shared[0]
