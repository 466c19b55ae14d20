"""Answers that can be trusted: a temperature, thresholds of several labels and, if asked for, one below which nothing
is answered, all chosen on validation rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phasefit.data.table import Table
from phasefit.metrics.calibration import best_temperature, threshold_for
from phasefit.metrics.multi_label import best_multi_temperature, best_thresholds
from phasefit.models.heads.decision import Decision
from phasefit.models.model import TASK, Model
from phasefit.prepare.splitting import labels_of
from phasefit.runs.specification import RunSpec


def decide(model: Model, validation: Table, outputs: np.ndarray, spec: RunSpec, task: str = TASK) -> list[str]:
    """Choose how the model decides, given its head's own outputs of the validation rows; what was chosen."""
    space = model.space_of(task)
    if space.kind == "score":
        return []
    values = space.values(labels_of(validation), where=validation.name)
    several = space.kind == "multi"
    fit = best_multi_temperature if several else best_temperature
    temperature = fit(values, outputs) if spec.recipe.calibrate else 1.0
    decision = Decision(temperature, thresholds=(0.5,) * len(space) if several else ())
    notes = []
    if spec.recipe.calibrate:
        was = "too sure" if temperature > 1 else "not sure enough"
        notes.append(f"probabilities: the head was {was}; calibrated on validation, temperature {temperature:.2f}")
    if several:
        chosen = best_thresholds(values, decision.calibrated(outputs))
        decision = replace(decision, thresholds=tuple(chosen.tolist()))
        low, high = chosen.min(), chosen.max()
        notes.append(
            f"a label is given from a probability of its own on, chosen on validation: {low:.2f} to {high:.2f}"
        )
    if spec.recipe.reject:
        sure = decision.calibrated(outputs)
        decision = replace(decision, reject_below=threshold_for(spec.recipe.reject, sure))
        withheld = int((decision.answers(sure) < 0).sum())
        least, rows = decision.reject_below, f"{withheld:,} of the {len(sure):,} validation rows"
        notes.append(f"a prediction less probable than {least:.3f} is withheld: {rows}")
    if decision != Decision():
        model.decisions[model.known_task(task)] = decision
    return notes
