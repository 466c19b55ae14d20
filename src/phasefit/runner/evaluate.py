"""Evaluating a model on a labelled table."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.data.table import Table
from phasefit.metrics.calibration import calibration_bins, calibration_error, selective
from phasefit.metrics.classification import classification_metrics
from phasefit.models.decision import Decision
from phasefit.models.model import Model
from phasefit.runner.splitting import labels_of


def score(model: Model, table: Table, probabilities: np.ndarray) -> dict[str, Any]:
    """All metrics of a table, given the model's probabilities; a row with a label it does not know is a mistake.

    Callers that would rather refuse or drop such rows say so to `splitting.known_only` first.
    """
    space = model.space.extend(labels_of(table))
    codes = space.encode(labels_of(table), where=table.name)
    missing = np.zeros((len(probabilities), len(space) - probabilities.shape[1]))
    paths = [label if isinstance(label, tuple) else (label,) for label in space.classes]
    levels = paths if space.kind == "tree" else None
    found = classification_metrics(codes, np.hstack([probabilities, missing]), space.names, levels)
    return found | _of_decision(model.decision(), codes, probabilities)


def _of_decision(decision: Decision, codes: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """What calibration changed, and what abstaining gains; nothing where the model does neither."""
    found: dict[str, Any] = {}
    if decision.temperature != 1:
        before = calibration_bins(codes, decision.uncalibrated(probabilities))
        found["ece_uncalibrated"] = calibration_error(before)
    if decision.reject_below:
        found |= selective(codes, decision.answers(probabilities))
    return found
