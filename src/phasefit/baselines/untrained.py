"""The encoder without training, for studies that score encoders on pairs of texts."""

from __future__ import annotations

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.errors import DataError
from phasefit.prepare.prepare import Prepared


class Untrained(Baseline):
    """Makes no predictions; it is scored by the cosines of its encoder."""

    title = "the encoder without further training, for studies of encoders"

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Raise: there is no classifier."""
        raise DataError("the baseline 'untrained' is an encoder without a classifier; use 'frozen'")


BASELINE = Untrained()
