"""The training loop: a generator of events. To stop early, `break`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from accelerate import Accelerator
from accelerate.utils import broadcast

from phasefit.data.batches import Batches, Draw
from phasefit.errors import RecipeError
from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Scored, StepDone
from phasefit.models.encoder.dropout import dropout_rate
from phasefit.models.solved_head import Solution
from phasefit.phases.contract import AfterStep, Phase
from phasefit.training.averaging import copied_weights, encoder_weights, put_trained_weights
from phasefit.training.best import Best
from phasefit.training.empty_batches import EmptyBatchWarnings
from phasefit.training.evaluate import from_main_process, scores_of, solve, together
from phasefit.training.evaluations import evaluation_facts, limit_evaluations
from phasefit.training.finishing import finish
from phasefit.training.gradients import add_gradients
from phasefit.training.optimiser import make_optimiser
from phasefit.training.schedule import Schedule
from phasefit.training.sharding import Stepper, stepper_of
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
    repeat: Mapping[str, Any] | None = None,
    resume: Callable[[PhaseState], None] | None = None,
    on_step_end: Callable[[PhaseState], None] | None = None,
) -> Iterator[Event]:
    """Train one phase and restore its best weights.

    With `fixed_steps` (refitting), run that many steps of a schedule for `planned_steps`, without evaluation; `repeat`
    holds the other choices of the fit to repeat. `resume` restores a saved state before the first step; `on_step_end`
    receives the state after every step and may save it.
    """
    chosen = getattr(phase.options, "watch", "auto")  # automatic choices fall back to the loss, which skips nothing
    if phase.options.skip_at is not None and phase.lower_is_better and chosen != "auto":
        raise RecipeError(f"{phase.name}: skip_at needs a watched score of which higher is better, not '{phase.watch}'")
    schedule = limit_evaluations(phase, Schedule.of(phase.options, len(phase.batches), planned_steps))
    if phase.is_solved:
        schedule = replace(schedule, total=0)
    last = schedule.total if fixed_steps is None else min(fixed_steps, schedule.total)
    started = time.perf_counter()
    phase.set_steps(schedule.total)
    phase.to(accelerator.device)
    state = PhaseState(phase, make_optimiser(phase), Best(phase), accelerator)
    if phase.options.blend != 1:
        state.before = encoder_weights(phase)
    if schedule.soup > 1:
        state.start = copied_weights(phase)
    unaveraged = schedule.total - round(phase.options.average * schedule.total)  # the steps before the averaged ones
    empty_batches = EmptyBatchWarnings(phase.name)
    yield PhaseStarted(phase.name, index, phases, last, phase.watch, phase.facts() | _sizes(phase))
    yield from (Note(text) for text in phase.notes())
    usual = Schedule.of(phase.options, len(phase.batches), planned_steps).every
    if fixed_steps is None and (schedule.every != usual or phase.evaluation_cap is not None):
        yield Note(_limited(phase, schedule))

    solutions: dict[str, Solution] = {}
    ridge = (repeat or {}).get("ridge")
    if resume is not None:
        resume(state)
    else:
        solutions = solve(phase, accelerator, ridge)
    if resume is None and fixed_steps is None and not phase.starts_untrained:
        yield from _evaluate(phase, accelerator, state.best, 0, 0.0)
        yield from _skip(state)
    stepper = stepper_of(state) if state.step < last and not state.stopped else None
    phase.train()
    earlier_seconds = state.seconds
    steps = _steps(phase.batches, phase.options.accumulate, state.step)
    while stepper is not None and state.step < last and not state.stopped:
        state.step += 1
        with empty_batches.recording(), dropout_rate(stepper.phase.encoder, phase.options.encoder_dropout):
            done = _step(state, stepper, next(steps), schedule, seed, last)
        yield done
        yield from empty_batches.notes()
        _end_training(state, schedule, last)
        after = _after_step(phase, accelerator, state.step, last)
        yield from (Note(text) for text in after.notes)
        if fixed_steps is None and phase.evaluates(state.step, schedule.evaluates(state.step)):
            yield from _evaluate(phase, accelerator, state.best, state.step, state.step / schedule.per_epoch)
            state.stopped = 0 < phase.options.patience <= state.best.misses
        if phase.options.average and state.step > unaveraged:
            state.average.add(phase)
        state.stopped = state.stopped or after.over
        state.seconds = earlier_seconds + time.perf_counter() - started
        if on_step_end is not None:
            on_step_end(state)
    yield from finish(state, None if fixed_steps is None else repeat or {})
    if state.step:
        solutions = solve(phase, accelerator, ridge)
    yield from _report_solutions(phase, solutions, state.choices)
    best = state.best.kept
    reverted = bool(state.step and not best.step and best.scores)
    if reverted:
        what = "loss" if phase.watch == "loss" else f"{phase.watch} score"
        yield Note(f"{phase.name} did not improve the {what}; its changes were discarded")
    accelerator.free_memory()
    took = earlier_seconds + time.perf_counter() - started
    yield PhaseEnded(
        phase.name,
        state.step,
        took,
        best.step,
        best.scores,
        state.step < last,
        phase.watch,
        schedule.total,
        evaluation_facts(phase, schedule) if fixed_steps is None else {},
        reverted,
        state.choices | phase.results(),
    )


def _step(
    state: PhaseState,
    stepper: Stepper,
    draws: list[Draw],
    schedule: Schedule,
    seed: int,
    last: int,
) -> StepDone:
    """Run step number `state.step` of the optimiser."""
    phase, accelerator, step = state.phase, state.accelerator, state.step
    started = time.perf_counter()
    segment = phase.segment(step) or schedule.segment(step)
    starts = segment is not None and segment[0] == 1
    if starts:
        state.optimiser.state.clear()
        put_trained_weights(phase, state.start)
    factor = schedule.factor(step, segment)
    for group in state.optimiser.param_groups:
        group["lr"] = group["peak_lr"] * factor
    with together(phase, accelerator):
        phase.before_step(step)
    stepper.before_step(starts)
    loss, scalars = add_gradients(stepper.phase, stepper.module, accelerator, draws, seed, step)
    if phase.options.clip:
        accelerator.clip_grad_norm_(stepper.phase.parameters(), phase.options.clip)
    stepper.optimiser.step()
    stepper.optimiser.zero_grad()
    stepper.after_step()
    epoch, took = step / schedule.per_epoch, time.perf_counter() - started
    return StepDone(phase.name, step, last, epoch, loss, phase.options.lr * factor, took, scalars)


def _end_training(state: PhaseState, schedule: Schedule, last: int) -> None:
    """After the last step of each training of a soup, add its weights; after the last of all, use their average."""
    segment = schedule.segment(state.step)
    if segment is None or (segment[0] < segment[1] and state.step < last):
        return
    state.average.add(state.phase)
    if state.step == last:
        put_trained_weights(state.phase, state.average.weights)


def _after_step(phase: Phase, accelerator: Accelerator, step: int, last: int) -> AfterStep:
    """Let the phase do its work between steps; rounding must not make the processes differ."""
    with together(phase, accelerator):
        done = phase.after_step(step, last=step == last)
    after = from_main_process(accelerator, done)
    if after is not None and accelerator.num_processes > 1:
        for tensor in (*phase.parameters(), *phase.buffers()):
            broadcast(tensor.detach())
    return after or AfterStep()


def _steps(batches: Batches, accumulate: int, taken: int) -> Iterator[list[Draw]]:
    """Yield the draws of each step after the first `taken`, endlessly; the last step of an epoch may be smaller."""
    epoch, skipped = divmod(taken, -(-len(batches) // accumulate))
    while True:
        draws = islice(batches.epoch(epoch), skipped * accumulate, None)
        while step := list(islice(draws, accumulate)):
            yield step
        epoch, skipped = epoch + 1, 0


def _evaluate(phase: Phase, accelerator: Accelerator, best: Best, step: int, epoch: float) -> list[Event]:
    scores = scores_of(phase, accelerator)
    if not scores:
        return []
    improved = best.see(step, scores, phase.contributions)
    return [Scored(phase.name, step, epoch, scores, phase.watch, improved)]


def _skip(state: PhaseState) -> Iterator[Note]:
    """Stop before the first step if the watched score is so high that the phase can hardly raise it."""
    phase, score = state.phase, state.best.kept.scores.get(state.phase.watch)
    if phase.options.skip_at is None or phase.lower_is_better or score is None or score < phase.options.skip_at:
        return
    state.stopped, state.choices["skipped"] = True, True
    yield Note(
        f"{phase.name}: skipped, because the {phase.watch} score is {score:.3f} before its first step "
        f"(skip_at = {phase.options.skip_at:g})"
    )


def _report_solutions(phase: Phase, solutions: Mapping[str, Solution], choices: dict[str, Any]) -> Iterator[Note]:
    """Record the penalty of a head that was solved, and report it if it was chosen."""
    for solution in solutions.values():
        if solution.C is None:
            continue
        choices["ridge"] = 1 / solution.C
        if solution.losses:
            choices["ridge_losses"] = {f"{1 / C:.3g}": loss for C, loss in solution.losses.items()}
            yield Note(f"{phase.name}: solved the head; cross-validation chose ridge {1 / solution.C:.3g}")


def _limited(phase: Phase, schedule: Schedule) -> str:
    """How evaluations are limited."""
    facts = evaluation_facts(phase, schedule)
    sample = f"on a fixed sample of {facts['rows']:,} of {facts['of']:,} rows, " if phase.evaluation_cap else ""
    why = f"so that evaluations are at most {phase.options.evaluation_share:.0%} of the work"
    return (
        f"{phase.name}: evaluated {sample}every {schedule.every:,} steps, {why} "
        f"(--set {phase.name}.evaluation_share=1 for all rows)"
    )


def _sizes(phase: Phase) -> dict[str, float]:
    trained = {id(p): p.numel() for part in phase.groups().values() for p in part if p.requires_grad}
    return {
        "parameters": float(sum(p.numel() for p in phase.parameters())),
        "trained": float(sum(trained.values())),
    }
