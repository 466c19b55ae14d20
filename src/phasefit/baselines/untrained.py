"""The encoder before any training, where a study scores encoders on pairs of texts."""

from __future__ import annotations

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.errors import DataError
from phasefit.prepare.prepare import Prepared


class Untrained(Baseline):
    """Has no predictions: its cell is scored by the cosines of its encoder alone."""

    title = "the encoder as it is, for studies of encoders"

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """There is no classifier."""
        raise DataError("the baseline 'untrained' is an encoder without a classifier; 'frozen' adds one")


BASELINE = Untrained()
