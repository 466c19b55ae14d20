"""The encoder without training, with logistic regression on its vectors: what training the encoder must beat."""

from __future__ import annotations

import warnings

import numpy as np

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.baselines.linear import fit_linear
from phasefit.data.table import Table
from phasefit.errors import TextsCut
from phasefit.prepare.prepare import Prepared

C = 10.0  # unit vectors need less regularisation than the default of scikit-learn


class Frozen(Baseline):
    """Fits sentence vectors; for pairs both vectors, their difference and product."""

    title = "the frozen encoder with logistic regression (scikit-learn)"

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Encode the training rows and fit the linear model."""
        from phasefit.models.encoder.locate import DEFAULT_MODEL
        from phasefit.models.storage import load_model
        from phasefit.training.device import make_accelerator

        device = make_accelerator(options.device, options.precision).device
        model = load_model(DEFAULT_MODEL if options.model is None else options.model, str(device))

        def features(table: Table) -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TextsCut)
                sides = [model.embed(list(side)) for side in table.sides[:2]]
            if len(sides) == 1:
                return sides[0]
            return np.hstack([*sides, abs(sides[0] - sides[1]), sides[0] * sides[1]])

        predict = fit_linear(features(prepared.train), prepared, options.seed, C)
        return lambda table: predict(features(table))


BASELINE = Frozen()
