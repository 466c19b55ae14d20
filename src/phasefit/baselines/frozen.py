"""The encoder without training, with logistic regression on its vectors: what training the encoder must beat."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from phasefit.baselines.contract import FitOptions, SavableBaseline
from phasefit.errors import TextsCut
from phasefit.prepare.prepare import Prepared

if TYPE_CHECKING:
    from phasefit.models.predictor import Predictor


class Frozen(SavableBaseline):
    """Fits a linear head on sentence vectors; for pairs on both vectors, their difference and product.

    Cross-validation on the training rows chooses C of logistic regression, or the penalty of ridge regression.
    """

    title = "the frozen encoder with logistic regression (scikit-learn)"

    def fit_model(self, prepared: Prepared, options: FitOptions) -> Predictor:
        """Encode the training rows and fit the linear head."""
        from phasefit.models.encoder.locate import DEFAULT_MODEL
        from phasefit.models.heads import Head, PairKind
        from phasefit.models.model import TASK
        from phasefit.models.solved_head import solve_head
        from phasefit.models.storage import load_model
        from phasefit.training.device import make_accelerator

        device = make_accelerator(options.device, options.precision).device
        model = load_model(DEFAULT_MODEL if options.model is None else options.model, str(device))
        model.heads.clear()
        model.spaces.clear()
        model.decisions.clear()
        if options.set_up is not None:
            options.set_up(model)
        space, train = prepared.space, prepared.train
        pair: PairKind | None = "uv_diff_prod" if train.others else None
        head = Head("linear", model.encoder.dimension, space.outputs, dropout=0.0, pair=pair)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TextsCut)
            vectors = model.vectors(train.inputs, pair)
        values, seed = prepared.values(train), options.seed
        solution = solve_head(head, vectors, space, values, weights=train.weights, seed=seed)
        head.set_output(solution.weight, solution.bias)
        model.heads[TASK], model.spaces[TASK] = head.to(device), space
        return model.eval()


BASELINE = Frozen()
