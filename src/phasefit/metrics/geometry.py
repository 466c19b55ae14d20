"""The geometry of an embedding space: how close texts of a class are, and how evenly all texts are spread.

Only directions count: vectors are scaled to length 1 first. A vector without a direction (zero or NaN) stays zero and
is orthogonal to all others. Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.registry import GEOMETRY, metrics_of

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]

OF_CLASSES = ("within", "between", "silhouette")


def geometry_rows(stages: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, list[Any], str]]:
    """Each figure that some stage has: its name, its value by stage (None if missing), and how to read it."""
    rows = []
    labelled = has_classes(stages.values())
    for metric in metrics_of(GEOMETRY):
        values = [figures.get(metric.name) for figures in stages.values()]
        if metric.reading and any(value is not None for value in values):
            reading = metric.reading if labelled else metric.reading_without_labels or metric.reading
            rows.append((metric.name, values, reading))
    return rows


def has_classes(stages: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the figures come from labelled texts."""
    return any(figures.get(name) is not None for figures in stages for name in OF_CLASSES)


def geometry(
    vectors: Floats, codes: Sequence[int] | Ints | None = None, pairs: tuple[Floats, Floats] | None = None
) -> dict[str, Any]:
    """All figures of text vectors (n, d) with the classes `codes` (n,), -1 for unlabelled texts.

    `pairs` are vectors (m, d) of texts and of their positives: if no text has a label, alignment is over them, and the
    figure `pairs` counts them. All pairs of texts are compared, so pass a few thousand texts at most. The figure
    `texts` counts them. Undefined figures are dropped: all of them for fewer than two texts, alignment and `within` if
    no class has two texts, `between` for a single class, silhouette in both cases.
    """
    figures: dict[str, Any] = {"texts": len(vectors)}
    if len(vectors) < 2:
        return figures
    classes = np.full(len(vectors), -1) if codes is None else np.asarray(codes)
    near = cosines(vectors)
    labelled = classes >= 0
    figures |= of_classes(near[np.ix_(labelled, labelled)], classes[labelled])
    if pairs is not None and len(pairs[0]) and not labelled.any():
        figures |= {"pairs": len(pairs[0]), "alignment": alignment(*pairs)}
    figures |= {"uniformity": _uniformity(near), "anisotropy": float(near[np.triu_indices(len(near), 1)].mean())}
    return {metric.name: figures[metric.name] for metric in metrics_of(GEOMETRY) if metric.name in figures}


def of_classes(near: Floats, codes: Ints) -> dict[str, float]:
    """The figures that need labels, from the cosines (n, n) of texts and their classes (n,)."""
    figures: dict[str, float] = {}
    first, second = np.triu_indices(len(codes), 1)
    same = codes[first] == codes[second]
    of_pairs = near[first, second]
    if same.any():
        figures["alignment"] = float(squared_distances(near)[same].mean())
        figures["within"] = float(of_pairs[same].mean())
    if not same.all():
        figures["between"] = float(of_pairs[~same].mean())
    if same.any() and not same.all():
        figures["silhouette"] = silhouette(near, codes)
    return figures


def cosines(vectors: Floats) -> Floats:
    """The cosines of all vectors (n, n); the diagonal is 1, or 0 for a vector without direction."""
    points = unit(vectors)
    return np.asarray(np.clip(points @ points.T, -1.0, 1.0))


def squared_distances(near: Floats) -> Floats:
    """The squared distances of all pairs i < j in order, from the cosines of vectors of length 1 or 0."""
    first, second = np.triu_indices(len(near), 1)
    squares = near.diagonal()
    return np.asarray(np.maximum(squares[first] + squares[second] - 2 * near[first, second], 0.0))


def unit(vectors: Floats) -> Floats:
    """Vectors scaled to length 1; NaN counts as 0, and a vector of zeros stays zero."""
    points = np.nan_to_num(np.asarray(vectors, dtype=np.float64), posinf=0.0, neginf=0.0)
    largest = np.abs(points).max(axis=1, keepdims=True, initial=0.0)
    points = points / np.where(largest > 0, largest, 1.0)  # squares could overflow or underflow
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(length > 0, length, 1.0))


def alignment(anchors: Floats, positives: Floats) -> float:
    """The mean squared distance of vectors to their positives, row by row (Wang and Isola, 2020): from 0 to 4."""
    differences = unit(anchors) - unit(positives)
    return float(np.einsum("ij,ij->i", differences, differences).mean())


def uniformity(vectors: Floats) -> float:
    """`log mean exp(-2 |x - y|^2)` over all pairs (Wang and Isola, 2020): from 0 (all vectors are equal) to -8."""
    return _uniformity(cosines(vectors))


def _uniformity(near: Floats) -> float:
    return min(float(np.log(np.exp(-2 * squared_distances(near)).mean())), 0.0)


def anisotropy(vectors: Floats) -> float | None:
    """The mean cosine of all pairs of vectors (n, d); None for fewer than two. Needs no n x n matrix."""
    count = len(vectors)
    if count < 2:
        return None
    points = unit(vectors)
    total = points.sum(axis=0)
    own = np.einsum("ij,ij->", points, points)  # pairs of a vector with itself, which do not count
    return float(np.clip((total @ total - own) / (count * (count - 1)), -1.0, 1.0))


def silhouette(near: Floats, codes: Ints) -> float:
    """How much closer texts are to their own class than to the next (Rousseeuw, 1987), from cosines (n, n): -1 to 1.

    scikit-learn's differs in the last digits and rejects as many classes as texts.
    """
    distances = np.clip(1.0 - near, 0.0, 2.0)
    np.fill_diagonal(distances, 0.0)
    _, own, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    members = np.eye(len(sizes))[own]
    sums = distances @ members  # (n, classes)
    alone = sizes[own] == 1
    inside = sums[members > 0] / np.maximum(sizes[own] - 1, 1)
    outside = np.where(members > 0, np.inf, sums / sizes).min(axis=1)
    larger = np.maximum(inside, outside)
    widths = (outside - inside) / np.where(larger > 0, larger, 1.0)
    return float(np.where(alone, 0.0, widths).mean())
