"""Pseudo-labels: calibrated probabilities of a head that is solved on labelled vectors, balanced over classes."""

from __future__ import annotations

import warnings

import numpy as np

SCALE, INVERSE_RIDGE = 5.0, 1 / 0.3  # as the head of few-shot: a cosine head with ridge = 0.3
TOLERANCE = 1e-9  # of the solver; a usual one magnifies rounding, which differs between numbers of processes
LOWEST = -30.0  # log-probability of a class without labelled rows
MOST_TEXTS = 2000  # unlabelled texts that get a pseudo-label at most
MOST_UNEVEN = 4  # texts of a class, relative to the class with the fewest


def log_probabilities(labelled: np.ndarray, codes: np.ndarray, others: np.ndarray, classes: int) -> np.ndarray:
    """Log-probabilities (n, classes) of other vectors, by logistic regression on the directions of labelled ones."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nearly converged is good enough
        fitted = LogisticRegression(C=INVERSE_RIDGE, max_iter=500, tol=TOLERANCE).fit(_directions(labelled), codes)
    logs = np.full((len(others), classes), LOWEST)
    logs[:, fitted.classes_] = np.maximum(fitted.predict_log_proba(_directions(others)), LOWEST)
    return logs


def _directions(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    return np.asarray(SCALE * wide / np.linalg.norm(wide, axis=1, keepdims=True).clip(1e-12))


def calibrated(logs: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities at this temperature; the rows sum to 1."""
    scaled = np.asarray(logs, dtype=np.float64) / temperature
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def most_confident(probabilities: np.ndarray, keep: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and classes of the texts that get a pseudo-label: per class, those with the highest probability.

    No class gets more than its even share of `keep`, nor more than four times as many as the class with the fewest, or
    than a quarter of its even share if that class is rarely predicted.
    """
    predicted = probabilities.argmax(axis=1)
    counts = np.bincount(predicted, minlength=probabilities.shape[1])
    even = max(round(keep * len(probabilities) / probabilities.shape[1]), 1)
    most = min(even, MOST_UNEVEN * max(int(counts[counts > 0].min()), even // MOST_UNEVEN**2))
    order = np.argsort(-probabilities.max(axis=1), kind="stable")
    chosen = [order[predicted[order] == code][:most] for code in np.flatnonzero(counts).tolist()]
    positions = np.concatenate(chosen)
    return positions, predicted[positions]


def evenly_repeated(codes: np.ndarray) -> np.ndarray:
    """Positions in `codes` such that every class occurs equally often: those of small classes are repeated."""
    rows = [np.flatnonzero(codes == code) for code in np.unique(codes).tolist()]
    most = max(map(len, rows))
    return np.concatenate([np.resize(each, most) for each in rows])


def sample_of(rows: np.ndarray, most: int, random: np.random.Generator) -> np.ndarray:
    """At most this many of the rows, in their order."""
    return np.sort(rows if len(rows) <= most else random.choice(rows, most, replace=False))
