"""Whether probabilities mean what they say: the bins of a reliability diagram and the expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.metrics.confusion import Floats, Ints

BINS = 15  # Guo et al., "On calibration of modern neural networks" (2017)


def calibration_bins(true: Ints, probabilities: Floats, bins: int = BINS) -> list[dict[str, Any]]:
    """Rows by the probability of their predicted class, in bins of equal width that include their upper end.

    Each is `{from, to, rows, confidence, accuracy}`, the last two means over its rows; empty bins are left out.
    """
    confidence = np.clip(probabilities.max(axis=1).astype(np.float64), 0.0, 1.0)
    right = probabilities.argmax(axis=1) == true
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    rows = np.bincount(place, minlength=bins)
    sure = np.bincount(place, weights=confidence, minlength=bins)
    hits = np.bincount(place, weights=right, minlength=bins)
    return [
        {
            "from": float(edges[each]),
            "to": float(edges[each + 1]),
            "rows": int(rows[each]),
            "confidence": float(sure[each] / rows[each]),
            "accuracy": float(hits[each] / rows[each]),
        }
        for each in np.flatnonzero(rows)
    ]


def calibration_error(bins: list[dict[str, Any]]) -> float:
    """The expected calibration error: the mean gap between confidence and accuracy, each bin by its rows."""
    rows = sum(each["rows"] for each in bins)
    gaps = (each["rows"] * abs(each["confidence"] - each["accuracy"]) for each in bins)
    return float(sum(gaps) / max(rows, 1))
