"""Choose, on validation rows, a temperature, the thresholds of several labels and, optionally, a threshold below which
no answer is given."""

from __future__ import annotations

import numpy as np

from phasefit.data.table import Table
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.models.predictor import TASK, Predictor
from phasefit.prepare.splitting import labels_of
from phasefit.runs.specification import RunSpec


def decide(
    model: Predictor, validation: Table, outputs: np.ndarray, spec: RunSpec, task: str = TASK, *, watch: str = ""
) -> list[str]:
    """Choose how the model decides from its uncalibrated outputs for the validation rows; return notes about it."""
    space = model.space_of(task)
    values = space.values(labels_of(validation), where=validation.name)
    kind, recipe = kind_of(space), spec.recipe
    decision, notes = kind.decide(space, values, outputs, calibrate=recipe.calibrate, reject=recipe.reject, watch=watch)
    if decision != Decision():
        model.decisions[model.known_task(task)] = decision
    return notes
