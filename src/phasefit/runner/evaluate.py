"""Evaluating a model on a labelled table."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.data.table import Table
from phasefit.metrics.classification import classification_metrics
from phasefit.models.inference import Progress
from phasefit.models.model import Model
from phasefit.runner.splitting import labels_of


def evaluate(model: Model, table: Table, progress: Progress | None = None) -> dict[str, Any]:
    """All metrics of a table; a label the model does not know is an error that names its row."""
    codes = model.space.encode(labels_of(table), where=table.name)
    probabilities = model.predict_proba(table.texts, progress=progress)
    return score(model, codes, probabilities)


def score(model: Model, codes: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """All metrics of probabilities that are already there."""
    space = model.space
    paths = [label if isinstance(label, tuple) else (label,) for label in space.classes]
    return classification_metrics(codes, probabilities, space.names, paths if space.kind == "tree" else None)
