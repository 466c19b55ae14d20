"""All metrics of a classifier on one split, for `metrics.json`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import sqrt
from typing import Any

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.calibration import calibration_bins, calibration_error, confidence_entropy
from phasefit.metrics.confusion import ClassScores, Floats, Ints, class_rows, confusion_matrix
from phasefit.metrics.ranking import roc_auc
from phasefit.metrics.scores import checked, log_loss

Z95 = 1.959963984540054  # the normal quantile of a two-sided 95 % interval


def classification_metrics(
    codes_true: Ints,
    probabilities: Floats,
    names: Sequence[str],
    levels: Sequence[Sequence[object]] | None = None,
) -> dict[str, Any]:
    """Scores of (n, classes) probabilities against n codes, as plain numbers for JSON.

    Macro averages are over the classes that occur in the true labels or in the predictions; `roc_auc` is None if no
    class has both positive and negative rows; `ece` is the expected calibration error over the bins of `calibration`.
    `levels`, for tree labels, holds the path of each class from the root; paths may differ in length.
    """
    true, probabilities = checked(codes_true, probabilities)
    if len(names) != probabilities.shape[1]:
        raise DataError(f"{len(names)} class names do not match {probabilities.shape[1]} columns of probabilities")
    predicted = probabilities.argmax(axis=1)
    matrix = confusion_matrix(true, predicted, len(names))
    scores = ClassScores.of(matrix)
    hits = int(np.trace(matrix))
    bins = calibration_bins(true, probabilities)
    report: dict[str, Any] = {
        "rows": len(true),
        "accuracy": hits / len(true),
        "accuracy_ci95": list(wilson_interval(hits, len(true))),
        **scores.averages(),
        "roc_auc": roc_auc(true, probabilities),
        "log_loss": log_loss(true, probabilities),
        "ece": calibration_error(bins),
        "confidence_entropy": confidence_entropy(probabilities),
        "per_class": class_rows(names, scores.precision, scores.recall, scores.f1, scores.support),
        "confusion": {"labels": list(names), "matrix": matrix.tolist()},
        "calibration": bins,
    }
    return report if levels is None else report | tree_metrics(true, predicted, levels)


def wilson_interval(hits: int, rows: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion: accurate for few rows and for proportions near 0 and 1.

    scipy's `binomtest` differs in the last digits.
    """
    share, spread = hits / rows, z * z / rows
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / rows + spread / (4 * rows)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def tree_metrics(true: Ints, predicted: Ints, levels: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Accuracy and macro F1 at each level of a tree, and the hierarchical F1 over all nodes of the paths.

    A node is its whole path: the same name below different parents is a different node.
    """
    paths = [tuple(takewhile(lambda name: name not in (None, ""), path)) for path in levels]
    report = []
    for depth in range(1, max(map(len, paths)) + 1):
        nodes: dict[tuple[object, ...], int] = {}
        codes = np.array([nodes.setdefault(path[:depth], len(nodes)) for path in paths])
        matrix = confusion_matrix(codes[true], codes[predicted], len(nodes))
        averages = ClassScores.of(matrix).averages()
        report.append({"accuracy": float(np.trace(matrix) / len(true)), "macro_f1": averages["macro_f1"]})
    return {"levels": report, "hierarchical_f1": hierarchical_f1(true, predicted, paths)}


def hierarchical_f1(true: Ints, predicted: Ints, paths: Sequence[tuple[object, ...]]) -> float:
    """F1 of the nodes on the predicted paths against those on the true ones (Kiritchenko et al., 2006)."""
    pairs, counts = np.unique(np.stack([true, predicted]), axis=1, return_counts=True)
    shared = total = 0
    for truth, guess, count in zip(*pairs, counts, strict=True):
        agree = takewhile(lambda pair: pair[0] == pair[1], zip(paths[truth], paths[guess], strict=False))
        shared += 2 * int(count) * sum(1 for _ in agree)
        total += int(count) * (len(paths[truth]) + len(paths[guess]))
    return shared / total
