"""Scoring an encoder on pairs of texts with scores: do the cosines of its vectors rank the pairs as the scores do?"""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.data.table import Table
from phasefit.errors import DataError
from phasefit.metrics.regression import regression_metrics
from phasefit.models.predictor import Predictor, Progress

REPORTED = ("rows", "spearman", "pearson", "pearson_ci95", "points")  # errors need cosines on the scale of the scores


def pair_cosines(
    model: Predictor, table: Table, *, batch_size: int = 64, progress: Progress | None = None
) -> np.ndarray:
    """The cosine of the two texts of each pair, (n,)."""
    left, right = (model.embed(list(side), batch_size=batch_size, progress=progress) for side in table.sides[:2])
    sizes = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / np.maximum(sizes, 1e-12))


def similarity_metrics(table: Table, cosines: np.ndarray) -> dict[str, Any]:
    """Spearman's and Pearson's correlation of cosines and scores."""
    metrics = regression_metrics(check_scores(table), cosines)
    return {name: metrics[name] for name in REPORTED if name in metrics}


def check_scores(table: Table) -> np.ndarray:
    """The scores of a table of pairs, (n,); raise if they are not numbers."""
    if table.labels is None or not table.others:
        raise DataError(f"{table.name} has no text pairs with scores, which are needed to score encoders")
    scores = [float(label) for label in table.labels if isinstance(label, int | float)]
    if len(scores) != len(table):
        raise DataError(
            f"{table.name} has labels that are not numbers; scoring encoders needs pairs with numeric scores"
        )
    return np.array(scores)
