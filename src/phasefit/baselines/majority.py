"""The most frequent class or the mean score: the score of ignoring the texts."""

from __future__ import annotations

import numpy as np

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.data.table import Table
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared


class Majority(Baseline):
    """Predicts the mean of the training labels for every row."""

    title = "the most frequent class or the mean score, for every text"

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Compute class or label frequencies, or the mean score."""
        values = prepared.values(prepared.train)
        if kind_of(prepared.space).answer == "class":
            values = np.eye(len(prepared.space))[values]
        mean = np.asarray(values, dtype=np.float64).reshape(len(prepared.train), -1).mean(axis=0)

        def predict(table: Table) -> np.ndarray:
            return np.tile(mean, (len(table), 1))

        return predict


BASELINE = Majority()
