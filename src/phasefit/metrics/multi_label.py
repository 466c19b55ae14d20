"""Scores of texts with several labels each: every label is a binary decision with its own threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.calibration import bins_of, calibration_error
from phasefit.metrics.confusion import Floats, class_rows
from phasefit.metrics.ranking import roc_auc
from phasefit.metrics.thresholds import HALF, MACRO, shrunk_thresholds


def quick_multi(true: np.ndarray, probabilities: Floats) -> dict[str, float]:
    """The metrics that a phase may watch; each F1 uses thresholds chosen on these rows, as the trained model will."""
    true, probabilities = checked(true, probabilities)
    chosen = probabilities >= shrunk_thresholds(true, probabilities, "micro_f1")
    micro = f1_scores(true, chosen)[0]
    macro = f1_scores(true, probabilities >= shrunk_thresholds(true, probabilities, MACRO))[1]
    area = _area(true, probabilities)
    return {
        "accuracy": float((true == chosen).all(axis=1).mean()),
        "micro_f1": micro,
        "macro_f1": macro,
        "roc_auc": HALF if area is None else area,
        "log_loss": log_loss(true, probabilities),
    }


def multi_metrics(
    true: np.ndarray, probabilities: Floats, names: Sequence[str], thresholds: Sequence[float] = ()
) -> dict[str, Any]:
    """All metrics of one split with several labels per text, for `metrics.json`.

    `accuracy` is that of whole sets. Macro averages are over the labels that occur in the true labels or in the
    predictions; `ece` is over all binary decisions, one per text and label.
    """
    true, probabilities = checked(true, probabilities)
    if len(names) != true.shape[1]:
        raise DataError(f"{len(names)} class names do not match {true.shape[1]} columns of probabilities")
    chosen = probabilities >= (np.asarray(thresholds) if len(thresholds) else HALF)
    micro, macro, f1 = f1_scores(true, chosen)
    hits, predicted, support = (true & chosen).sum(axis=0), chosen.sum(axis=0), true.sum(axis=0)
    precision, recall = hits / np.maximum(predicted, 1), hits / np.maximum(support, 1)
    sizes = (true & chosen).sum(axis=1), true.sum(axis=1) + chosen.sum(axis=1)
    bins = bins_of(probabilities.ravel(), true.ravel())
    return {
        "rows": len(true),
        "micro_f1": micro,
        "macro_f1": macro,
        "samples_f1": float(np.where(sizes[1] > 0, 2 * sizes[0] / np.maximum(sizes[1], 1), 1.0).mean()),
        "accuracy": float((true == chosen).all(axis=1).mean()),
        "micro_precision": float(hits.sum() / max(predicted.sum(), 1)),
        "micro_recall": float(hits.sum() / max(support.sum(), 1)),
        "labels_per_text": float(chosen.sum(axis=1).mean()),
        "roc_auc": _area(true, probabilities),
        "log_loss": log_loss(true, probabilities),
        "ece": calibration_error(bins),
        "per_class": class_rows(names, precision, recall, f1, support),
        "calibration": bins,
    }


def f1_scores(true: np.ndarray, chosen: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Micro F1, macro F1 and the F1 of each label."""
    hits, both = (true & chosen).sum(axis=0), true.sum(axis=0) + chosen.sum(axis=0)
    each = 2 * hits / np.maximum(both, 1)
    macro = float(each[both > 0].mean()) if (both > 0).any() else 0.0
    return float(2 * hits.sum() / max(both.sum(), 1)), macro, np.asarray(each)


def log_loss(true: np.ndarray, probabilities: Floats) -> float:
    """The mean of -log of the probability of the true value, over all texts and labels."""
    eps = np.finfo(probabilities.dtype).eps
    right = np.clip(np.where(true, probabilities, 1 - probabilities), eps, 1.0)
    return float(-np.log(right.astype(np.float64)).mean())


def best_multi_temperature(true: np.ndarray, probabilities: Floats) -> float:
    """The temperature that maximises the likelihood of all binary decisions; prior as in `best_temperature`."""
    from scipy.optimize import minimize_scalar

    from phasefit.metrics.calibration import WIDEST

    clipped = np.clip(probabilities.astype(np.float64), 1e-12, 1 - 1e-12)
    signed = np.where(true, 1.0, -1.0) * (np.log(clipped) - np.log1p(-clipped))

    def cost(log_temperature: float) -> float:
        return float(np.logaddexp(0.0, -signed * np.exp(-log_temperature)).sum() + log_temperature**2 / 2)

    optimum = minimize_scalar(cost, bounds=WIDEST, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(optimum.x))


def checked(true: np.ndarray, probabilities: Floats) -> tuple[np.ndarray, Floats]:
    """Both as (n, labels) arrays of the same shape, without NaN."""
    labels, table = np.asarray(true, dtype=bool), np.asarray(probabilities, dtype=np.float64)
    if labels.ndim != 2 or labels.shape != table.shape:
        raise DataError(f"metrics need (n, labels) true labels and probabilities, not {labels.shape} and {table.shape}")
    if not len(labels):
        raise DataError("there are no rows to score")
    if np.isnan(table).any():
        raise DataError("the probabilities contain NaN")
    return labels, cast(Floats, table)


def _area(true: np.ndarray, probabilities: Floats) -> float | None:
    """The mean ROC-AUC over labels; None if no label has both positive and negative rows."""
    sides = (
        roc_auc(true[:, code].astype(np.int64), np.stack([1 - probabilities[:, code], probabilities[:, code]], axis=1))
        for code in range(true.shape[1])
    )
    areas = [area for area in sides if area is not None]
    return float(np.mean(areas)) if areas else None
