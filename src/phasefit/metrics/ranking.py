"""The area under the ROC curve, computed from ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.confusion import Floats, Ints


def roc_auc(true: Ints, probabilities: Floats) -> float | None:
    """One-vs-rest ROC-AUC, averaged over the classes with positive and negative rows; the usual area for two classes.

    None if no class has both, e.g. if all rows have the same class.
    """
    classes = probabilities.shape[1]
    judged = [1] if classes == 2 else range(classes)
    areas = [binary_auc(true == code, probabilities[:, code]) for code in judged]
    defined = [area for area in areas if area is not None]
    return float(np.mean(defined)) if defined else None


def binary_auc(positive: NDArray[np.bool_], score: Floats) -> float | None:
    """The probability that a positive row scores above a negative one; ties count half.

    scikit-learn's `roc_auc_score` differs in the last digits and is ten times slower; this runs at every evaluation.
    """
    from scipy.stats import rankdata

    positives = int(positive.sum())
    negatives = len(positive) - positives
    if not positives or not negatives:
        return None
    return float((rankdata(score)[positive].sum() - positives * (positives + 1) / 2) / (positives * negatives))
