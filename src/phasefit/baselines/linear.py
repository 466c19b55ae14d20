"""Linear models of scikit-learn for every kind of label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared

MOST_STEPS = 1000  # iterations of the solver


def fit_linear(features: Any, prepared: Prepared, seed: int, C: float) -> Callable[[Any], np.ndarray]:
    """Fit logistic regression for classes, one per label for multi-label rows, and ridge regression for scores."""
    values = prepared.values(prepared.train)
    answer = kind_of(prepared.space).answer
    if answer == "number":
        from sklearn.linear_model import Ridge

        ridge = Ridge(alpha=1 / C, random_state=seed).fit(features, np.ravel(values))
        return lambda unseen: np.asarray(ridge.predict(unseen)).reshape(-1, 1)
    if answer == "set":
        return _fit_each_label(features, np.asarray(values), seed, C)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, max_iter=MOST_STEPS, random_state=seed).fit(features, values)

    def probabilities(unseen: Any) -> np.ndarray:
        result = np.zeros((unseen.shape[0], len(prepared.space)))
        result[:, model.classes_] = model.predict_proba(unseen)
        return result

    return probabilities


def _fit_each_label(features: Any, values: np.ndarray, seed: int, C: float) -> Callable[[Any], np.ndarray]:
    """One logistic regression per label; a label that all or no training rows have is predicted as constant."""
    from sklearn.linear_model import LogisticRegression

    models: list[Any] = []
    for column in values.T:
        constant = column.min() == column.max()
        one = None if constant else LogisticRegression(C=C, max_iter=MOST_STEPS, random_state=seed)
        models.append(float(column[0]) if one is None else one.fit(features, column))

    def probabilities(unseen: Any) -> np.ndarray:
        rows = unseen.shape[0]
        columns = [np.full(rows, one) if isinstance(one, float) else one.predict_proba(unseen)[:, 1] for one in models]
        return np.stack(columns, axis=1)

    return probabilities
