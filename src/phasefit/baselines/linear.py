"""Linear models of scikit-learn for every kind of label, as weights that any model can hold."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np

from phasefit.data.labels.score import ScoreLabels
from phasefit.kinds import kind_of
from phasefit.models.tfidf.model import LinearWeights
from phasefit.prepare.prepare import Prepared

MOST_STEPS = 1000  # iterations of the solver
NEVER = -1e4  # the logit of a class without training rows: its probability is 0
ALWAYS = 40.0  # the logit of a label that all training rows have


def fit_linear(features: Any, prepared: Prepared, seed: int, C: float) -> LinearWeights:
    """Fit logistic regression for classes, one per label for multi-label rows, and ridge regression for scores."""
    space, values, row_weights = prepared.space, prepared.values(prepared.train), prepared.train.weights
    if row_weights is not None:
        row_weights = row_weights / row_weights.mean()  # so that C keeps its meaning
    weights = np.zeros((features.shape[1], space.outputs))
    bias = np.full(space.outputs, NEVER)
    answer = kind_of(space).answer
    if answer == "number":
        from sklearn.linear_model import Ridge

        standard = cast(ScoreLabels, space).standard(np.ravel(values))
        ridge = Ridge(alpha=1 / C, random_state=seed).fit(features, standard, row_weights)
        weights[:, 0], bias[0] = ridge.coef_, ridge.intercept_
    elif answer == "set":
        for place, column in enumerate(np.asarray(values).T):
            if column.min() == column.max():  # all or none of the rows have it
                bias[place] = ALWAYS if column[0] else -ALWAYS
            else:
                model = _logistic(features, column, row_weights, seed, C)
                weights[:, place], bias[place] = model.coef_[0], model.intercept_[0]
    elif len(np.unique(values)) == 1:
        bias[values[0]] = 0.0
    else:
        model = _logistic(features, values, row_weights, seed, C)
        codes = model.classes_
        if len(codes) == 2:  # the logit of the second class; that of the first is 0
            bias[codes] = 0.0
            codes = codes[1:]
        weights[:, codes], bias[codes] = model.coef_.T, model.intercept_
    return LinearWeights(weights.astype(np.float32), bias.astype(np.float32))


def _logistic(features: Any, values: np.ndarray, row_weights: np.ndarray | None, seed: int, C: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nearly converged is good enough
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # reported with the data
        return LogisticRegression(C=C, max_iter=MOST_STEPS, random_state=seed).fit(features, values, row_weights)
