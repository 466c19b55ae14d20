"""Evaluating a model on a labelled table."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.data.labels import LabelSpace, ScoreLabels
from phasefit.data.table import Table
from phasefit.metrics.calibration import bins_of, calibration_bins, calibration_error, selective
from phasefit.metrics.classification import classification_metrics
from phasefit.metrics.multi_label import multi_metrics
from phasefit.metrics.registry import added_scores
from phasefit.metrics.regression import regression_metrics
from phasefit.models.heads.decision import Decision
from phasefit.models.model import TASK, Model
from phasefit.prepare.splitting import labels_of


def score(model: Model, table: Table, outputs: np.ndarray, task: str = TASK) -> dict[str, Any]:
    """All metrics of a table, given the model's outputs; a row with a label it does not know is a mistake.

    Callers that would rather refuse or drop such rows say so to `splitting.known_only` first.
    """
    return score_outputs(model.space_of(task), model.decision(task), table, outputs)


def score_outputs(space: LabelSpace, decision: Decision, table: Table, outputs: np.ndarray) -> dict[str, Any]:
    """The same for whatever made the outputs: (n, classes) probabilities, or (n, 1) scores."""
    space = space.extend(labels_of(table))
    values = space.values(labels_of(table), where=table.name)
    if isinstance(space, ScoreLabels):
        metrics = regression_metrics(values, outputs, list(map(str, space.levels)))
        return metrics | added_scores(space.kind, values, outputs)
    missing = np.zeros((len(outputs), len(space) - outputs.shape[1]))
    outputs = np.hstack([outputs, missing])
    if space.kind == "multi":
        thresholds = [*decision.thresholds, *np.full(len(space) - len(decision.thresholds), 0.5)]
        metrics = multi_metrics(values, outputs, space.names, thresholds) | _of_sigmoids(decision, values, outputs)
    else:
        metrics = classification_metrics(values, outputs, space.names, _paths(space))
        metrics |= _of_decision(decision, values, outputs)
    return metrics | added_scores(space.kind, values, outputs)


def _paths(space: LabelSpace) -> list[tuple[Any, ...]] | None:
    paths = [label if isinstance(label, tuple) else (label,) for label in space.classes]
    return paths if space.kind == "tree" else None


def _of_decision(decision: Decision, codes: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """What calibration changed, and what abstaining gains; nothing where the model does neither."""
    metrics: dict[str, Any] = {}
    if decision.temperature != 1:
        before = calibration_bins(codes, decision.uncalibrated(probabilities))
        metrics["ece_uncalibrated"] = calibration_error(before)
    if decision.reject_below:
        metrics |= selective(codes, decision.answers(probabilities))
    return metrics


def _of_sigmoids(decision: Decision, values: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    if decision.temperature == 1:
        return {}
    before = decision.uncalibrated(probabilities)
    return {"ece_uncalibrated": calibration_error(bins_of(before.ravel(), values.ravel()))}
