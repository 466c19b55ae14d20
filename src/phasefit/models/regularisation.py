"""The regularisation of a linear model, chosen by cross-validation on its training rows."""

from __future__ import annotations

import numpy as np

from phasefit.models.linear import LinearRows, fit_linear
from phasefit.models.tfidf.model import LinearWeights
from phasefit.seeds import generator

GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # C of logistic regression, 1 / ridge, for vectors of length 1
USUAL = 10.0  # preferred among equals
FOLDS = 4
MOST_ROWS = 2000  # a sample of this size ranks values of C well enough
STEPS = 100  # of the solver while values are compared


def choose_regularisation(rows: LinearRows, *, seed: int) -> tuple[float, dict[float, float]]:
    """The C with the lowest cross-validated loss, and the losses of all values.

    Among equal losses, the C nearest to `USUAL` is chosen: vectors that were trained on these rows separate them with
    any C. If no class has two rows, nothing can be compared.
    """
    random = generator(seed, "regularisation")
    if len(rows) > MOST_ROWS:
        rows = rows.subset(np.sort(random.choice(len(rows), MOST_ROWS, replace=False)))
    folds = fold_numbers(rows, random)
    if folds.max(initial=-1) < 1:
        return USUAL, {}
    losses = {C: _held_out_loss(rows, folds, C, seed) for C in GRID}
    return min(GRID, key=lambda C: (losses[C], abs(np.log(C / USUAL)))), losses


def fold_numbers(rows: LinearRows, random: np.random.Generator) -> np.ndarray:
    """The fold that holds out each row; -1: never, because no other row has its class."""
    order, numbers = random.permutation(len(rows)), np.full(len(rows), -1)
    classes = rows.values if rows.answer == "class" else np.zeros(len(rows), dtype=np.int64)
    place = 0
    for code in np.unique(classes):
        own = order[classes[order] == code]
        if len(own) > 1:
            numbers[own] = (place + np.arange(len(own))) % FOLDS
            place += len(own)  # so that small classes do not all fill the first folds
    return numbers


def held_out_losses(linear: LinearWeights, rows: LinearRows) -> np.ndarray:
    """The loss of each row: whether its class is wrong, the log loss of its labels, or the squared error of its score.

    Errors choose better values for classes than log loss, which measures confidence above all: it is corrected by
    calibration later.
    """
    logits = np.asarray(rows.features @ linear.weights.astype(np.float64)) + linear.bias
    if rows.answer == "number":
        return np.asarray((logits[:, 0] - rows.standard) ** 2)
    if rows.answer == "set":
        return np.asarray((np.logaddexp(0, logits) - rows.values * logits).mean(axis=1))
    return np.asarray(logits.argmax(axis=1) != rows.values, dtype=np.float64)


def _held_out_loss(rows: LinearRows, folds: np.ndarray, C: float, seed: int) -> float:
    """The mean loss of rows, each under a model that was fitted without its fold."""
    losses: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for fold in np.unique(folds[folds >= 0]):
        held = rows.subset(np.flatnonzero(folds == fold))
        linear = fit_linear(rows.subset(np.flatnonzero(folds != fold)), C=C, seed=seed, steps=STEPS)
        losses.append(held_out_losses(linear, held))
        weights.append(np.ones(len(held)) if held.weights is None else held.weights)
    counted = np.concatenate(weights)
    if not counted.any():
        counted = np.ones_like(counted)
    return float(np.average(np.concatenate(losses), weights=counted))
