"""The encoder before any training, where a study scores encoders on pairs of texts."""

from __future__ import annotations

from phasefit.errors import DataError
from phasefit.runner.prepare import Prepared
from phasefit.runner.request import TrainRequest
from phasefit.studies.baselines.contract import Baseline, Predict


class Untrained(Baseline):
    """Has no predictions: its cell is scored by the cosines of its encoder alone."""

    def check(self) -> None:
        """It always runs."""

    def fit(self, prepared: Prepared, request: TrainRequest) -> Predict:
        """There is no classifier."""
        raise DataError("the baseline 'untrained' is an encoder without a classifier; 'frozen' adds one")


BASELINE = Untrained()
