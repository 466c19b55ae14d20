"""What a phase computes outside its steps: scores and solved heads. The processes divide the rows that are encoded."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from phasefit.models.encoder.sharing import shared_encoding
from phasefit.models.solved_head import Solution
from phasefit.objectives import NothingToLearn
from phasefit.phases.contract import Phase

T = TypeVar("T")


def scores_of(phase: Phase, accelerator: Accelerator) -> dict[str, float]:
    """The scores of the main process: if they differed by rounding, one process could stop and the others hang."""
    with warnings.catch_warnings(), together(phase, accelerator):
        warnings.simplefilter("ignore", NothingToLearn)  # few validation rows may have no positives
        scores = phase.validate()
    shared, phase.contributions = from_main_process(accelerator, (scores, phase.contributions))
    return shared


def solve(phase: Phase, accelerator: Accelerator, ridge: float | None = None) -> dict[str, Solution]:
    """Solve heads that need no steps; all use those of the main process: rounding must not make them differ."""
    with together(phase, accelerator):
        solutions = phase.solutions(ridge)
    shared = from_main_process(accelerator, solutions)
    phase.set_solutions(shared)
    return shared


def together(phase: Phase, accelerator: Accelerator) -> AbstractContextManager[None]:
    """In the block, several processes divide the rows that the encoder of the phase encodes."""
    return shared_encoding(phase.encoder) if accelerator.num_processes > 1 else nullcontext()


def from_main_process(accelerator: Accelerator, value: T) -> T:
    """The value of the main process."""
    shared = [value]
    if accelerator.num_processes > 1:
        broadcast_object_list(shared)
    return shared[0]
