"""`--plan`: what a run would do and how long it may take, estimated from a few real steps of each phase."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from phasefit.events import Note, PhaseStarted, Stage, StepDone
from phasefit.prepare.prepare import prepare
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.starting import base_run, check_start, starting_model
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.specification import DEFAULT_RECIPE, RunSpec

if TYPE_CHECKING:
    from accelerate import Accelerator

    from phasefit.events import Listener
    from phasefit.phases.contract import Phase

TIMED_STEPS = 5  # the first two warm up and do not count, if there are more
TIMED_SECONDS = 0.5  # of a phase: no further step is timed after that, but at least two are
TIMED_ROWS = 32


@dataclass(frozen=True)
class PhasePlan:
    """The upper limits of a phase; early stopping may end it sooner."""

    name: str
    rows: int
    steps: int
    pairs: int | None  # per epoch
    parameters: int
    trained_parameters: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """All phases, facts about the data, and notes."""

    phases: list[PhasePlan]
    facts: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """An upper estimate for all phases."""
        return sum(phase.seconds for phase in self.phases)


def plan(spec: RunSpec, listen: Listener) -> Plan:
    """Prepare everything as `train` would, take a few steps of each phase on a throw-away model, and stop."""
    recipe = requested_recipe(spec)
    recipe.check_files()
    listen(Stage("reading"))
    needs = needs_of(recipe, open=spec.recipe.name == DEFAULT_RECIPE)
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base_run(spec.model), needs=needs)
    recipe_notes: list[Note] = []
    recipe = resolve_recipe(spec, recipe, prepared, recipe_notes.append)
    check_start(spec, recipe)
    if recipe.baseline is not None:
        seconds = (
            f"'{recipe.baseline}' trains no phases: it is fitted on the training rows, which usually takes seconds"
        )
        notes = [*prepared.notes, *(note.text for note in recipe_notes), seconds]
        return Plan([], prepared.facts(), notes)

    from phasefit.runs.fitting.fit import build_phases
    from phasefit.runs.fitting.index_rows import index_rows
    from phasefit.training.device import make_accelerator, set_threads

    recipe.check()
    threads = set_threads(spec.machine.threads)
    accelerator = make_accelerator(spec.machine.device, spec.machine.precision)
    model = starting_model(spec, prepared).to(accelerator.device)
    notes = [*prepared.notes, *(note.text for note in recipe_notes)]

    def collect(event: Any) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        else:
            listen(event)

    data = index_rows(model, prepared, recipe, spec.seed, collect)
    phases: list[PhasePlan] = []
    encoding: float | None = None
    for phase in build_phases(model, data, recipe, spec.seed):
        listen(Stage(f"timing {phase.name}"))
        if encoding is None:
            encoding = _seconds_per_row(phase)
        phases.append(_plan_phase(phase, accelerator, spec.seed, encoding))
        notes.extend(phase.notes())
    notes.append(
        "times are for the phases only, estimated from a few steps on this machine; early stopping may end them sooner"
    )
    facts = {**prepared.facts(), "model": model.encoder.name, "max_length": model.encoder.max_length}
    return Plan(phases, {**facts, "threads": threads, "device": str(accelerator.device)}, notes)


def _plan_phase(phase: Phase, accelerator: Accelerator, seed: int, encoding: float) -> PhasePlan:
    """Time a few steps; `encoding` is the time to encode a row."""
    from phasefit.training.evaluations import limit_evaluations
    from phasefit.training.schedule import Schedule

    schedule = limit_evaluations(phase, Schedule.of(phase.options, len(phase.batches)))
    total = 0 if phase.is_solved else schedule.total
    once = phase.skip_encoding()
    facts, step_seconds = _timed(phase, accelerator, seed, min(TIMED_STEPS, total))
    rows = 0 if once else phase.evaluation_rows()
    evaluations = total // schedule.every + 1
    steps = median(step_seconds[2:] or step_seconds[1:] or step_seconds or [0.0]) * total
    return PhasePlan(
        phase.name,
        int(facts["rows"]),
        total,
        int(facts["pairs"]) if "pairs" in facts else None,
        int(facts["parameters"]),
        int(facts["trained"]),
        steps + encoding * (once + rows * evaluations),
    )


def _timed(phase: Phase, accelerator: Accelerator, seed: int, steps: int) -> tuple[dict[str, float], list[float]]:
    """The facts of a phase, and the seconds of its first steps."""
    from phasefit.training.loop import train_phase

    facts: dict[str, float] = {}
    seconds: list[float] = []
    for event in train_phase(phase, accelerator, seed=seed, fixed_steps=steps):
        if isinstance(event, PhaseStarted):
            facts = event.facts
            if not steps:  # solved, which takes seconds
                break
        elif isinstance(event, StepDone):
            seconds.append(event.seconds)
            if len(seconds) > 1 and sum(seconds) > TIMED_SECONDS:
                break
    accelerator.free_memory()
    return facts, seconds


def _seconds_per_row(phase: Phase) -> float:
    """The time to encode a row, from a few rows: a whole evaluation of many long texts takes minutes."""
    from phasefit.models.encoder.inference import encode_rows

    rows = phase.data.train[:: max(len(phase.data.train) // TIMED_ROWS, 1)][:TIMED_ROWS]
    started = time.perf_counter()
    encode_rows(phase.encoder, phase.data.tokens, rows)
    return (time.perf_counter() - started) / len(rows)
