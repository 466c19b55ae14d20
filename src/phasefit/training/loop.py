"""The loop: the only place that calls backward. A generator of events: stopping early is a `break`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.utils import broadcast_object_list
from torch import nn

from phasefit.data.batches import Batches, Draw
from phasefit.data.seeds import derive, generator
from phasefit.errors import TrainingError
from phasefit.models.seeded import seeded
from phasefit.phases.contract import Batch, Phase
from phasefit.training.best import Best
from phasefit.training.events import Event, Note, PhaseEnded, PhaseStarted, Scored, StepDone
from phasefit.training.optimiser import make_optimiser
from phasefit.training.schedule import Schedule
from phasefit.training.state import PhaseState


def train_phase(
    phase: Phase,
    accelerator: Accelerator,
    *,
    seed: int,
    index: int = 1,
    phases: int = 1,
    fixed_steps: int | None = None,
    planned_steps: int | None = None,
    resume: Callable[[PhaseState], None] | None = None,
    at_rest: Callable[[PhaseState], None] | None = None,
) -> Iterator[Event]:
    """Train one phase to its best weights.

    Refitting takes `fixed_steps` steps of a schedule made for `planned_steps`, as the first fit did, and looks at no
    score. `resume` puts a saved state in place before the first step; `at_rest` sees the state after every step, when
    it may be saved.
    """
    schedule = Schedule.of(phase.options, len(phase.batches), planned_steps)
    last = schedule.total if fixed_steps is None else min(fixed_steps, schedule.total)
    begun = time.perf_counter()
    phase.to(accelerator.device)
    state = PhaseState(phase, make_optimiser(phase), Best(phase), accelerator)
    yield PhaseStarted(phase.name, index, phases, last, phase.watch, phase.facts() | _sizes(phase))
    yield from (Note(text) for text in phase.notes())

    if resume is not None:
        resume(state)
    elif fixed_steps is None and not phase.starts_untrained:
        yield from _look(phase, accelerator, state.best, 0, 0.0)
    module, stepper = accelerator.prepare(phase, state.optimiser)
    phase.train()
    before = state.seconds
    steps = _steps(phase.batches, phase.options.accumulate, state.step)
    while state.step < last and not state.stopped:
        state.step += 1
        yield _step(state, module, stepper, next(steps), schedule, seed, last)
        if fixed_steps is None and schedule.looks(state.step):
            yield from _look(phase, accelerator, state.best, state.step, state.step / schedule.per_epoch)
            state.stopped = 0 < phase.options.patience <= state.best.misses
        state.seconds = before + time.perf_counter() - begun
        if at_rest is not None:
            at_rest(state)
    if not state.best.restore():
        state.best.step = state.step
    accelerator.free_memory()
    took = before + time.perf_counter() - begun
    best = state.best
    yield PhaseEnded(
        phase.name, state.step, took, best.step, best.scores, state.step < last, phase.watch, schedule.total
    )


def _step(
    state: PhaseState,
    module: nn.Module,
    stepper: AcceleratedOptimizer,
    draws: list[Draw],
    schedule: Schedule,
    seed: int,
    last: int,
) -> StepDone:
    """One step of the optimiser: the number `state.step`."""
    phase, accelerator, step = state.phase, state.accelerator, state.step
    begun = time.perf_counter()
    factor = schedule.factor(step)
    for group in state.optimiser.param_groups:
        group["lr"] = group["peak_lr"] * factor
    loss, scalars = _backward(phase, module, accelerator, draws, seed, step)
    if phase.options.clip:
        accelerator.clip_grad_norm_(phase.parameters(), phase.options.clip)
    stepper.step()
    stepper.zero_grad()
    epoch, took = step / schedule.per_epoch, time.perf_counter() - begun
    return StepDone(phase.name, step, last, epoch, loss, phase.options.lr * factor, took, scalars)


def _steps(batches: Batches, accumulate: int, taken: int) -> Iterator[list[Draw]]:
    """The draws of each step behind the first `taken`, without end; what is left of an epoch makes a smaller step."""
    epoch, skipped = divmod(taken, -(-len(batches) // accumulate))
    while True:
        draws = islice(batches.epoch(epoch), skipped * accumulate, None)
        while step := list(islice(draws, accumulate)):
            yield step
        epoch, skipped = epoch + 1, 0


def _backward(
    phase: Phase, module: nn.Module, accelerator: Accelerator, draws: list[Draw], seed: int, step: int
) -> tuple[float, dict[str, float]]:
    """Add up the gradients of one step's draws; the mean loss and figures of this process."""
    total, scalars = 0.0, {}
    rank, device = accelerator.process_index, accelerator.device
    for chunk, draw in enumerate(draws):
        own, share = _own_part(draw, rank, accelerator.num_processes, whole=phase.gathers)
        chunk_seed = derive(seed, phase.name, step, chunk, rank)
        batch = Batch(own, generator(chunk_seed, "noise"), device)
        waits = accelerator.no_sync(module) if chunk + 1 < len(draws) else torch.enable_grad()
        with seeded(chunk_seed, device), waits:
            output = module(batch)
            accelerator.backward(output.loss * (share / len(draws)))
        total += output.loss.item() / len(draws)
        scalars = {name: float(value) for name, value in output.scalars.items()}
    if not math.isfinite(total):
        raise TrainingError(
            f"{phase.name}: the loss became {total} at step {step}; lower it with --set {phase.name}.lr="
            f"{phase.options.lr / 4:g}"
        )
    return total, scalars


def _own_part(draw: Draw, rank: int, processes: int, *, whole: bool) -> tuple[Draw, float]:
    """This process's rows, and what its mean loss must count for so that the average over processes is the mean."""
    if processes == 1:
        return draw, 1.0
    own: Draw = {}
    for key, rows in draw.items():
        if len(rows) < processes:  # every process needs a row to take part
            rows = rows[np.arange(processes) % len(rows)]
        usable = len(rows) // processes * processes if whole else len(rows)
        own[key] = rows[rank * usable // processes : (rank + 1) * usable // processes]
    first = next(iter(draw))
    return own, 1.0 if whole else len(own[first]) * processes / max(len(draw[first]), processes)


def _look(phase: Phase, accelerator: Accelerator, best: Best, step: int, epoch: float) -> Iterator[Event]:
    """One process scores for all: were they to differ in the last bit, one would stop and the others wait for it."""
    told = [phase.validate() if accelerator.is_main_process else {}]
    if accelerator.num_processes > 1:
        broadcast_object_list(told)
    scores = told[0]
    if scores:
        improved = best.see(step, scores)
        yield Scored(phase.name, step, epoch, scores, phase.watch, improved)


def _sizes(phase: Phase) -> dict[str, float]:
    trained = {id(p): p.numel() for part in phase.groups().values() for p in part if p.requires_grad}
    return {
        "parameters": float(sum(p.numel() for p in phase.parameters())),
        "trained": float(sum(trained.values())),
    }
