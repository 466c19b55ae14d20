"""The C of a rival's logistic regression, chosen by cross-validation on its training rows.

Rivals' interpreters run it, so it uses only numpy and scikit-learn, imported when needed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from math import log
from typing import Any

GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
FOLDS = 5
UNKNOWN = 10.0  # without two rows of any class nothing can be held out
LEAST = 1e-7  # probability, so that a class missing in a fold has a finite loss
CROSS_VALIDATION = "cross-validation"


def best_c(make: Callable[[float], Any], inputs: Any, labels: Sequence[str], setting: Any, seed: int) -> float:
    """The C with the highest accuracy on held-out rows, by log loss if several are equal; or the C of the setting.

    `make` builds the classifier for a C. A row whose class is missing in its fold counts as an error for every C.
    """
    if setting != CROSS_VALIDATION:
        return float(setting)
    folds = min(FOLDS, max(Counter(labels).values()))
    if folds < 2 or len(set(labels)) < 2:
        return UNKNOWN
    parts = [part for part in splits(labels, folds, seed) if len({labels[row] for row in part[0]}) > 1]
    return max(GRID, key=lambda c: held_out_score(make, inputs, labels, parts, c))


def splits(labels: Sequence[str], folds: int, seed: int) -> Any:
    """Stratified folds; a class may have fewer rows than there are folds."""
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "the least populated class has only ... members"
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(list(labels), list(labels))


def held_out_score(
    make: Callable[[float], Any], inputs: Any, labels: Sequence[str], parts: Sequence[Any], c: float
) -> tuple[int, float]:
    """Right answers on held-out rows, and the sum of the logarithms of the true classes' probabilities."""
    right, likelihood = 0, 0.0
    for train, test in parts:
        fitted = make(c).fit([inputs[row] for row in train], [labels[row] for row in train])
        classes = list(fitted.classes_)
        for row, probabilities in zip(test, fitted.predict_proba([inputs[row] for row in test]), strict=True):
            right += classes[probabilities.argmax()] == labels[row]
            of_true = probabilities[classes.index(labels[row])] if labels[row] in classes else 0.0
            likelihood += log(max(float(of_true), LEAST))
    return right, likelihood
