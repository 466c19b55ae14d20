"""Fit a model: train it through the phases of a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from accelerate import Accelerator

from phasefit.errors import ModelError, RecipeError
from phasefit.events import Listener, Note, PhaseEnded
from phasefit.models.model import TASK, Model
from phasefit.models.tokens.truncation import Truncation, truncation
from phasefit.phases.contract import Phase, PhaseData
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.recipe import Recipe
from phasefit.runs.fitting.checkpointer import Checkpointer, NullCheckpointer
from phasefit.runs.fitting.history import History
from phasefit.runs.fitting.index_rows import index_rows
from phasefit.runs.fitting.snapshots import BEFORE, Snapshots
from phasefit.training.loop import train_phase


@dataclass
class Fitted:
    """The results of fitting in addition to the trained model."""

    phases: list[dict[str, Any]] = field(default_factory=list)  # name, steps, seconds, best_step, best
    history: History = field(default_factory=History)
    cut: Truncation | None = None  # how much text exceeds the model's maximum length
    snapshots: Snapshots | None = None  # vectors of the same texts, before training and after each phase

    def to_json(self) -> dict[str, Any]:
        """All but the snapshots, for a checkpoint."""
        cut = None if self.cut is None else self.cut.to_json()
        return {"phases": self.phases, "history": self.history.rows, "cut": cut}

    @classmethod
    def from_json(cls, content: dict[str, Any], snapshots: Snapshots | None) -> Fitted:
        """Restore from a checkpoint."""
        cut = None if content["cut"] is None else Truncation.from_json(content["cut"])
        return cls(list(content["phases"]), History(content["history"]), cut, snapshots)

    def steps_of(self, phase: str) -> dict[str, int]:
        """Arguments for `train_phase` to repeat a phase: the steps that validation chose, and the schedule's length."""
        chosen = next(record for record in self.phases if record["name"] == phase)
        return {"fixed_steps": chosen["best_step"], "planned_steps": chosen["planned_steps"]}


def fit(
    model: Model,
    prepared: Prepared,
    recipe: Recipe,
    accelerator: Accelerator,
    *,
    seed: int,
    listen: Listener,
    repeat: Fitted | None = None,
    checkpointer: Checkpointer | NullCheckpointer | None = None,
) -> Fitted:
    """Train the model in place. `repeat` refits with the number of steps per phase of that fit, without validation.

    A `checkpointer` writes checkpoints; if it has one to resume from, the fit continues there.
    """
    _refuse_untrained_classes(model, prepared, recipe)
    checkpointer = checkpointer or NullCheckpointer()
    data = index_rows(model, prepared, recipe, seed, listen)
    fitted = Fitted(snapshots=None if repeat is None else repeat.snapshots)
    if checkpointer.facts:
        fitted = Fitted.from_json(checkpointer.facts, checkpointer.snapshots)
        _check_snapshots(fitted.snapshots, data)
    elif checkpointer.keeps and repeat is None and accelerator.is_main_process:  # for the report of a run
        fitted.snapshots = Snapshots.of(data, seed)
        fitted.snapshots.take(BEFORE, model.encoder, data.tokens)
    fitted.cut = truncation(data.tokens, model.encoder.reach)
    resume_point = checkpointer.resume_point()
    for index, phase in enumerate(build_phases(model, data, recipe, seed)):
        if resume_point is not None and index <= resume_point.index:
            if index == resume_point.index:
                resume_point.put_weights(model, phase)
                listen(Note(f"resumed {resume_point.where(phase)}"))
            if resume_point.is_past(index):
                continue  # built only for the layers it adds to the model
        steps: dict[str, Any] = {} if repeat is None else repeat.steps_of(phase.name)
        steps |= {"index": index + 1, "phases": len(recipe.phases)}
        steps |= {"on_step_end": partial(checkpointer.on_step_end, model, fitted, index)}
        if resume_point is not None and index == resume_point.index:
            steps["resume"] = resume_point.put_state
        with checkpointer.training():
            for event in train_phase(phase, accelerator, seed=seed, **steps):
                fitted.history.add(event)
                listen(event)
                if isinstance(event, PhaseEnded):
                    fitted.phases.append(_record(event, fitted.history))
            if fitted.snapshots is not None and repeat is None:
                fitted.snapshots.take(phase.name, model.encoder, data.tokens)
            checkpointer.on_phase_end(accelerator, model, fitted, index)
    model.eval()
    return fitted


def build_phases(model: Model, data: PhaseData, recipe: Recipe, seed: int) -> Iterator[Phase]:
    """Build the phases one at a time: each starts from the model that the previous one trained."""
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        yield options.phase_class()(name, options, model, data, seed)


def _refuse_untrained_classes(model: Model, prepared: Prepared, recipe: Recipe) -> None:
    """Continuing from a run with new classes needs a phase that extends its head."""
    if TASK in model.heads and not any(options.grows_head for options in recipe.phases):
        missing = prepared.space.outputs - model.head().classes
        if missing > 0:
            new = prepared.space.names[-missing]
            raise RecipeError(f"{recipe.name}: the model has no class '{new}'; add a finetune phase to learn it")


def _check_snapshots(snapshots: Snapshots | None, data: PhaseData) -> None:
    """Refuse the snapshots of a checkpoint whose texts or classes do not exist."""
    if snapshots is None:
        return
    numbers = np.concatenate([snapshots.rows, snapshots.others])
    if not ((numbers >= -1) & (numbers < len(data.texts))).all() or not np.isin(snapshots.codes, data.codes).all():
        raise ModelError("the checkpoint does not match the recipe and data of its run (snapshots); train again")


def _record(event: PhaseEnded, history: History) -> dict[str, Any]:
    return {
        "name": event.phase,
        "steps": event.steps,
        "planned_steps": event.planned_steps,
        "seconds": round(event.seconds, 3),
        "best_step": event.best_step,
        "watch": event.watch,
        "before": history.first_score(event.phase, event.watch),
        "best": event.best,
        "reverted": event.reverted,
        "stopped_early": event.stopped_early,
        "evaluation": event.evaluation,
        **event.results,
    }
