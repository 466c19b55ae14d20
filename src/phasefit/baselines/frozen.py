"""The encoder without training, with logistic regression on its vectors: what training the encoder must beat."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from phasefit.baselines.contract import FitOptions, SavableBaseline
from phasefit.baselines.linear import fit_linear
from phasefit.errors import TextsCut
from phasefit.prepare.prepare import Prepared

if TYPE_CHECKING:
    from phasefit.models.predictor import Predictor

C = 10.0  # vectors of length 1 need less regularisation than the default of scikit-learn


class Frozen(SavableBaseline):
    """Fits a linear head on sentence vectors; for pairs on both vectors, their difference and product.

    Vectors are divided by their mean length, a constant that the weights of the head include afterwards.
    """

    title = "the frozen encoder with logistic regression (scikit-learn)"

    def fit_model(self, prepared: Prepared, options: FitOptions) -> Predictor:
        """Encode the training rows and fit the linear head."""
        import torch

        from phasefit.models.encoder.locate import DEFAULT_MODEL
        from phasefit.models.heads import Head
        from phasefit.models.model import TASK
        from phasefit.models.storage import load_model
        from phasefit.training.device import make_accelerator

        device = make_accelerator(options.device, options.precision).device
        model = load_model(DEFAULT_MODEL if options.model is None else options.model, str(device))
        model.heads.clear()
        model.spaces.clear()
        model.decisions.clear()
        if options.set_up is not None:
            options.set_up(model)
        pairs, size = bool(prepared.train.others), model.encoder.dimension
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TextsCut)
            vectors = model.vectors(prepared.train.inputs, "uv" if pairs else None).cpu().double().numpy()
        sides = [vectors[:, :size], *([vectors[:, size:]] if pairs else [])]
        length = float(np.mean([np.linalg.norm(side, axis=1).mean() for side in sides])) or 1.0
        scale = np.full(size, length)
        features = sides[0] / length
        if pairs:
            left, right = sides[0] / length, sides[1] / length
            features = np.hstack([left, right, abs(left - right), left * right])
            scale = np.concatenate([scale, scale, scale, scale**2])
        linear = fit_linear(features, prepared, options.seed, C)
        head = Head("linear", size, prepared.space.outputs, dropout=0.0, pair="uv_diff_prod" if pairs else None)
        with torch.no_grad():
            head.output.weight.copy_(torch.from_numpy((linear.weights / scale[:, None]).T))
            head.output.bias.copy_(torch.from_numpy(linear.bias))
        model.heads[TASK], model.spaces[TASK] = head.to(device), prepared.space
        return model.eval()


BASELINE = Frozen()
