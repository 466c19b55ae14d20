"""Probabilities that can be trusted: a temperature and, if asked for, a threshold, both chosen on validation rows."""

from __future__ import annotations

import numpy as np

from phasefit.data.table import Table
from phasefit.errors import DataError
from phasefit.metrics.calibration import best_temperature, threshold_for
from phasefit.models.decision import Decision
from phasefit.models.model import TASK, Model
from phasefit.runner.request import TrainRequest
from phasefit.runner.splitting import labels_of


def check_reject(request: TrainRequest, validation: Table | None) -> None:
    """A threshold needs rows that it can be chosen on."""
    if not 0 <= request.reject < 1:
        raise DataError(f"--reject is a share of the validation rows from 0 to below 1, not {request.reject}")
    if request.reject and (validation is None or validation.labels is None):
        raise DataError("--reject chooses its threshold on validation rows, and there are none; give --validation")


def decide(model: Model, validation: Table, probabilities: np.ndarray, request: TrainRequest) -> list[str]:
    """Choose how the model decides, given its head's own probabilities of the validation rows; what was chosen."""
    codes = model.space.encode(labels_of(validation), where=validation.name)
    temperature = best_temperature(codes, probabilities) if request.calibrate else 1.0
    decision = Decision(temperature)
    notes = []
    if request.calibrate:
        was = "too sure" if temperature > 1 else "not sure enough"
        notes.append(f"probabilities: the head was {was}; calibrated on validation, temperature {temperature:.2f}")
    if request.reject:
        sure = decision.calibrated(probabilities)
        decision = Decision(temperature, threshold_for(request.reject, sure))
        withheld = int((decision.answers(sure) < 0).sum())
        least, rows = decision.reject_below, f"{withheld:,} of the {len(sure):,} validation rows"
        notes.append(f"a prediction less probable than {least:.3f} is withheld: {rows}")
    if decision != Decision():
        model.decisions[TASK] = decision
    return notes
