"""How well an encoder's cosines follow the scores of pairs of texts: what encoders are compared by."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from phasefit.data.sources import read_dataset
from phasefit.errors import DataError, TextsCut
from phasefit.metrics.regression import regression_metrics
from phasefit.models.model import Model
from phasefit.prepare.splitting import cut
from phasefit.runs.specification import RunSpec


def pair_scores(model: Model, pairs: str, spec: RunSpec) -> dict[str, Any]:
    """The metrics of cosines against the scores of the test pairs of a dataset."""
    dataset = read_dataset(pairs, data_dir=spec.data.data_dir, sides="two")
    table = cut(dataset.test or dataset.train, spec.split.test_rows, spec.seed, "test", [])
    if table is None or table.labels is None or not table.others:
        raise DataError(f"{pairs} holds no pairs of texts with scores; encoders are scored on such")
    true = np.array([float(label) for label in table.labels if isinstance(label, int | float)])
    if len(true) != len(table):
        raise DataError(f"{pairs} has labels that are no numbers; encoders are scored on scores of pairs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextsCut)
        left, right = (model.embed(list(side)) for side in table.sides[:2])
    sizes = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return regression_metrics(true, (left * right).sum(axis=1) / np.maximum(sizes, 1e-12))
