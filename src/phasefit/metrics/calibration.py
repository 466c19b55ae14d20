"""Calibration of probabilities: reliability diagram, temperature scaling, rejection threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.metrics.confusion import Floats, Ints

WIDEST = (-3.0, 3.0)  # the search range of the log-temperature
BINS = 15  # Guo et al., "On calibration of modern neural networks" (2017)


def calibration_bins(true: Ints, probabilities: Floats, bins: int = BINS) -> list[dict[str, Any]]:
    """Rows grouped by the probability of their predicted class, in bins of equal width that include their upper end.

    Each bin is `{from, to, rows, confidence, accuracy}`, the last two means over its rows; empty bins are dropped.
    """
    return bins_of(probabilities.max(axis=1), probabilities.argmax(axis=1) == true, bins)


def bins_of(confidence: Floats, right: np.ndarray, bins: int = BINS) -> list[dict[str, Any]]:
    """The bins of any predictions, from the probability of each and whether it is right."""
    confidence = np.clip(np.asarray(confidence, dtype=np.float64), 0.0, 1.0)
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    rows = np.bincount(place, minlength=bins)
    total = np.bincount(place, weights=confidence, minlength=bins)
    hits = np.bincount(place, weights=right, minlength=bins)
    return [
        {
            "from": float(edges[each]),
            "to": float(edges[each + 1]),
            "rows": int(rows[each]),
            "confidence": float(total[each] / rows[each]),
            "accuracy": float(hits[each] / rows[each]),
        }
        for each in np.flatnonzero(rows)
    ]


def calibration_error(bins: list[dict[str, Any]]) -> float:
    """The expected calibration error: the mean gap between confidence and accuracy, bins weighted by their rows."""
    rows = sum(each["rows"] for each in bins)
    gaps = (each["rows"] * abs(each["confidence"] - each["accuracy"]) for each in bins)
    return float(sum(gaps) / max(rows, 1))


def confidence_entropy(probabilities: Floats) -> float:
    """The mean over rows of `-sum p log2 p`, in bits: from 0 (always certain) to log2 of the number of classes."""
    shares = np.clip(np.asarray(probabilities, dtype=np.float64), 0.0, 1.0)
    bits = -shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return max(float(bits.sum(axis=1).mean()), 0.0)


def best_temperature(true: Ints, probabilities: Floats) -> float:
    """The temperature, by which logits are divided, that maximises the likelihood (Guo et al., 2017).

    Its logarithm has a standard normal prior, which a single row outweighs. Without a prior, a few rows that are all
    predicted correctly would make every later prediction certain.
    """
    from scipy.optimize import minimize_scalar

    logits = np.log(np.maximum(probabilities.astype(np.float64), np.finfo(np.float64).tiny))

    def cost(log_temperature: float) -> float:
        scaled = logits * np.exp(-log_temperature)
        top = scaled.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(scaled - top).sum(axis=1)) + top[:, 0]
        return float((log_sum - scaled[np.arange(len(true)), true]).sum() + log_temperature**2 / 2)

    optimum = minimize_scalar(cost, bounds=WIDEST, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(optimum.x))


def threshold_for(rate: float, probabilities: Floats) -> float:
    """The highest threshold that at most this share of the rows stays below."""
    confidence = np.sort(probabilities.max(axis=1))
    return float(confidence[min(int(rate * len(confidence)), len(confidence) - 1)])


def selective(true: Ints, answers: Ints) -> dict[str, float | None]:
    """The share of answered rows and their accuracy; a code below 0 is a withheld answer."""
    answered = answers >= 0
    right = float((answers == true)[answered].mean()) if answered.any() else None
    return {"answered": float(answered.mean()), "accuracy_answered": right}
