"""Linear models of scikit-learn for every kind of label, as weights that any model can hold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.labels.score import ScoreLabels
from phasefit.kinds import kind_of
from phasefit.models.tfidf.model import LinearWeights

MOST_STEPS = 1000  # iterations of the solver
NEVER = -1e4  # the logit of a class without training rows: its probability is 0
ALWAYS = 40.0  # the logit of a label that all training rows have


@dataclass(frozen=True)
class LinearRows:
    """Labelled rows: (n, d) features, `values` of their labels, and weights of rows and of classes or labels."""

    features: Any  # an array or a sparse matrix
    space: LabelSpace
    values: np.ndarray
    weights: np.ndarray | None = None  # (n,)
    class_weights: np.ndarray | None = None  # (classes,); for sets of labels, of the rows that have each label
    prior: np.ndarray | None = None  # (d, classes): what regularisation pulls the weights to, instead of 0

    def __len__(self) -> int:
        return int(self.features.shape[0])

    @property
    def answer(self) -> str:
        """What is predicted: a class, a set of labels, or a number."""
        return kind_of(self.space).answer

    def subset(self, places: np.ndarray) -> LinearRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[places]
        return replace(self, features=self.features[places], values=self.values[places], weights=weights)

    @property
    def standard(self) -> np.ndarray:
        """Scores in standard units."""
        return np.asarray(cast(ScoreLabels, self.space).standard(np.ravel(self.values)))


def fit_linear(rows: LinearRows, *, C: float, seed: int, steps: int = MOST_STEPS) -> LinearWeights:
    """Fit logistic regression for classes, one per label for multi-label rows, and ridge regression for scores."""
    row_weights = None
    if rows.weights is not None and rows.weights.any():
        row_weights = rows.weights / rows.weights.mean()  # so that C keeps its meaning
    weights = np.zeros((rows.features.shape[1], rows.space.outputs))
    bias = np.full(rows.space.outputs, NEVER)
    if rows.answer == "number":
        from sklearn.linear_model import Ridge

        ridge = Ridge(alpha=1 / C, random_state=seed % 2**32).fit(rows.features, rows.standard, row_weights)
        weights[:, 0], bias[0] = ridge.coef_, ridge.intercept_
    elif rows.answer == "set":
        for place, column in enumerate(np.asarray(rows.values).T):
            if column.min() == column.max():  # all or none of the rows have it
                bias[place] = ALWAYS if column[0] else -ALWAYS
            else:
                own = None if rows.class_weights is None else np.where(column, rows.class_weights[place], 1.0)
                model = _logistic(rows.features, column, _product(row_weights, own), seed, C, steps)
                weights[:, place], bias[place] = model.coef_[0], model.intercept_[0]
    elif len(np.unique(rows.values)) == 1:
        bias[rows.values[0]] = 0.0
    elif rows.prior is not None:
        own = None if rows.class_weights is None else rows.class_weights[rows.values]
        codes = np.unique(rows.values)
        weights[:, codes], bias[codes] = _pulled(rows, codes, _product(row_weights, own), C, steps)
    else:
        own = None if rows.class_weights is None else rows.class_weights[rows.values]
        model = _logistic(rows.features, rows.values, _product(row_weights, own), seed, C, steps)
        codes = model.classes_
        if len(codes) == 2:  # the logit of the second class; that of the first is 0
            bias[codes] = 0.0
            codes = codes[1:]
        weights[:, codes], bias[codes] = model.coef_.T, model.intercept_
    return LinearWeights(weights.astype(np.float32), bias.astype(np.float32))


def _pulled(
    rows: LinearRows, codes: np.ndarray, weights: np.ndarray | None, C: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases of logistic regression for the classes `codes`, with a penalty on the distance to the prior.

    scikit-learn can only pull weights to 0.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    assert rows.prior is not None
    features, prior = np.asarray(rows.features, dtype=np.float64), rows.prior[:, codes]
    own = rows.values[:, None] == codes
    costs = C * np.ones(len(rows)) if weights is None else C * weights

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        both = flat.reshape(-1, len(codes))
        change, bias = both[:-1], both[-1]
        logs = log_softmax(features @ (prior + change) + bias, axis=1)
        excess = costs[:, None] * (np.exp(logs) - own)
        slope = np.vstack([features.T @ excess + change, excess.sum(axis=0)])
        return float(change.ravel() @ change.ravel() / 2 - costs @ logs[own]), slope.ravel()

    start = np.zeros((features.shape[1] + 1) * len(codes))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x.reshape(-1, len(codes))
    return prior + found[:-1], found[-1]


def _product(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    return first if second is None else second if first is None else first * second


def _logistic(features: Any, values: np.ndarray, weights: np.ndarray | None, seed: int, C: float, steps: int) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nearly converged is good enough
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # reported with the data
        return LogisticRegression(C=C, max_iter=steps, random_state=seed % 2**32).fit(features, values, weights)
