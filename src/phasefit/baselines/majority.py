"""The most frequent class, or the mean score: what knowing nothing of the texts gets."""

from __future__ import annotations

import numpy as np

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.data.table import Table
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared


class Majority(Baseline):
    """The mean of the training labels for every row."""

    title = "the most frequent class, or the mean score, whatever the text"

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Shares of the classes as probabilities, of several labels their frequencies, of scores the mean."""
        values = prepared.values(prepared.train)
        if kind_of(prepared.space).answer == "class":
            values = np.eye(len(prepared.space))[values]
        mean = np.asarray(values, dtype=np.float64).reshape(len(prepared.train), -1).mean(axis=0)

        def predict(table: Table) -> np.ndarray:
            return np.tile(mean, (len(table), 1))

        return predict


BASELINE = Majority()
