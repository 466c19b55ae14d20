"""Fully sharded training (FSDP): weights, gradients and moments of the optimiser are divided among the processes.

The steps are trained by a copy of the phase that is sharded. The phase itself keeps all weights, in every process, and
gets them after each step: evaluations, checkpoints, averages and the next phase use them as they always do.

> Why not shard the phase itself: Accelerate cannot undo it, the next phase would inherit a sharded encoder, and
> everything that reads or sets weights between steps would have to know about shards.
"""

from __future__ import annotations

import copy
from itertools import chain

import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.utils import DistributedType
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from phasefit.errors import RecipeError, TrainingError
from phasefit.phases.contract import Phase
from phasefit.training.optimiser import make_optimiser
from phasefit.training.state import PhaseState, whole


class Stepper:
    """What the steps of a phase are trained with: the phase and its optimiser, as Accelerate prepares them."""

    def __init__(self, state: PhaseState) -> None:
        self.phase: Phase = state.phase
        self.module: nn.Module
        self.optimiser: AcceleratedOptimizer
        self.module, self.optimiser = state.accelerator.prepare(state.phase, state.optimiser)

    def before_step(self, new_weights: bool) -> None:
        """Called when the phase has prepared a step; `new_weights`: its weights were set."""

    def after_step(self) -> None:
        """Called after a step of the optimiser."""


class ShardedStepper(Stepper):
    """Trains a sharded copy of the phase."""

    def __init__(self, state: PhaseState) -> None:
        self._whole = state.phase
        _check(state.phase, state.accelerator)
        self.phase = copy.deepcopy(state.phase).train()
        loaded, optimiser = state.optimiser, make_optimiser(self.phase)
        self.module, self.optimiser = state.accelerator.prepare(self.phase, optimiser)
        state.optimiser = optimiser
        _copy_moments(loaded, optimiser)

    def before_step(self, new_weights: bool) -> None:
        """Copy the buffers of the phase, and its weights if they are new."""
        with torch.no_grad():
            for own, value in zip(self.phase.buffers(), self._whole.buffers(), strict=True):
                own.copy_(value)
            for own, value in (
                zip(self.phase.parameters(), self._whole.parameters(), strict=True) if new_weights else ()
            ):
                own.copy_(_like(own, value))

    def after_step(self) -> None:
        """Copy the trained weights to the phase."""
        with torch.no_grad():
            for own, value in zip(self.phase.parameters(), self._whole.parameters(), strict=True):
                if value.requires_grad:
                    value.copy_(whole(own))


def stepper_of(state: PhaseState) -> Stepper:
    """The stepper of a phase."""
    return ShardedStepper(state) if is_sharded(state.accelerator) else Stepper(state)


def is_sharded(accelerator: Accelerator) -> bool:
    """Whether Accelerate was asked for FSDP."""
    return bool(accelerator.distributed_type == DistributedType.FSDP)


def _like(own: Tensor, value: Tensor) -> Tensor:
    """A tensor, sharded if `own` is."""
    return distribute_tensor(value.detach(), own.device_mesh, own.placements) if isinstance(own, DTensor) else value


def _copy_moments(loaded: torch.optim.Optimizer, optimiser: torch.optim.Optimizer) -> None:
    """Use the moments of a checkpoint, which were loaded for whole parameters."""
    pairs = zip(*(chain(*(group["params"] for group in one.param_groups)) for one in (loaded, optimiser)), strict=True)
    for before, parameter in pairs:
        if before in loaded.state:
            moments = loaded.state[before].items()
            optimiser.state[parameter] = {name: _like(parameter, v) if v.dim() else v for name, v in moments}


def _check(phase: Phase, accelerator: Accelerator) -> None:
    """Refuse the first version of FSDP, and options that use modules outside the forward pass of the sharded phase."""
    if not accelerator.is_fsdp2:
        raise TrainingError(
            "FSDP of version 1 is not supported; set fsdp_version: 2 in the configuration of Accelerate"
        )
    option = phase.options.not_sharded
    if option is not None:
        raise RecipeError(f"{phase.name}: {option} does not support FSDP; change it, or train without FSDP")
