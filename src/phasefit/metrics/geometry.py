"""The geometry of an embedding space: how near texts of a class are, and how evenly all of them fill the space.

Everything is said of directions: vectors are brought to length 1 first, and one that has no direction (zero, not a
number) stays zero, at a right angle to all others. All in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]

FIGURES: Mapping[str, str] = {  # in the order to show them in, and how to read each where texts have classes
    "alignment": "squared distance within a class; low is close",
    "uniformity": "low: space filled evenly; a classifier may raise it",
    "within": "cosine within a class; high is close",
    "between": "cosine between classes; low is apart",
    "silhouette": "1: classes apart, 0: touching, below: mixed",
    "anisotropy": "cosine of any two texts; 1: all point one way",
    "confidence_entropy": "bits; 0: sure, log2(classes): guessing",
}
WITHOUT_CLASSES: Mapping[str, str] = {  # the same where texts have none
    "alignment": "squared distance of the texts of a pair; low is close",
    "uniformity": "how evenly texts fill the space; low is even",
}
OF_CLASSES = ("within", "between", "silhouette")


def geometry_rows(stages: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, list[Any], str]]:
    """The figures that some stage has: the name, its value by stage (None where it has none), and how to read it."""
    rows = []
    readings = FIGURES if has_classes(stages.values()) else {**FIGURES, **WITHOUT_CLASSES}
    for name, reading in readings.items():
        values = [figures.get(name) for figures in stages.values()]
        if any(value is not None for value in values):
            rows.append((name, values, reading))
    return rows


def has_classes(stages: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the figures are of texts with labels."""
    return any(figures.get(name) is not None for figures in stages for name in OF_CLASSES)


def geometry(
    vectors: Floats, codes: Sequence[int] | Ints | None = None, pairs: tuple[Floats, Floats] | None = None
) -> dict[str, Any]:
    """All figures of vectors (n, d) of texts whose classes are `codes` (n,), -1 where there is no label.

    `pairs` are vectors (m, d) of texts and of what belongs to each: where no text has a label, alignment is over them,
    and `pairs` says how many they are. All pairs of texts are looked at, so callers give some thousands of texts at
    most. `texts` says how many there are. What has no meaning is left out: everything for fewer than two texts,
    alignment and `within` where no class has two, `between` for one class, silhouette for either.
    """
    found: dict[str, Any] = {"texts": len(vectors)}
    if len(vectors) < 2:
        return found
    classes = np.full(len(vectors), -1) if codes is None else np.asarray(codes)
    near = cosines(vectors)
    labelled = classes >= 0
    found |= of_classes(near[np.ix_(labelled, labelled)], classes[labelled])
    if pairs is not None and len(pairs[0]) and not labelled.any():
        found |= {"pairs": len(pairs[0]), "alignment": alignment(*pairs)}
    found |= {"uniformity": _uniformity(near), "anisotropy": float(near[np.triu_indices(len(near), 1)].mean())}
    return {name: found[name] for name in ("texts", "pairs", *FIGURES) if name in found}


def of_classes(near: Floats, codes: Ints) -> dict[str, float]:
    """What needs labels, from the cosines (n, n) of texts and their classes (n,)."""
    found: dict[str, float] = {}
    first, second = np.triu_indices(len(codes), 1)
    same = codes[first] == codes[second]
    of_pairs = near[first, second]
    if same.any():
        found["alignment"] = float(squared_distances(near)[same].mean())
        found["within"] = float(of_pairs[same].mean())
    if not same.all():
        found["between"] = float(of_pairs[~same].mean())
    if same.any() and not same.all():
        found["silhouette"] = silhouette(near, codes)
    return found


def cosines(vectors: Floats) -> Floats:
    """The cosine of each vector with each (n, n); on the diagonal 1, or 0 for a vector without direction."""
    points = unit(vectors)
    return np.asarray(np.clip(points @ points.T, -1.0, 1.0))


def squared_distances(near: Floats) -> Floats:
    """The squared distances of all pairs i < j in order, from the cosines of vectors of length 1 or 0."""
    first, second = np.triu_indices(len(near), 1)
    squares = near.diagonal()
    return np.asarray(np.maximum(squares[first] + squares[second] - 2 * near[first, second], 0.0))


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; what is not a number counts as 0, and a vector of zeros stays one."""
    points = np.nan_to_num(np.asarray(vectors, dtype=np.float64), posinf=0.0, neginf=0.0)
    largest = np.abs(points).max(axis=1, keepdims=True, initial=0.0)
    points = points / np.where(largest > 0, largest, 1.0)  # squares of the very large and the very small are lost
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(length > 0, length, 1.0))


def alignment(anchors: Floats, positives: Floats) -> float:
    """The mean squared distance of vectors to their positives, row by row (Wang and Isola, 2020): from 0 to 4."""
    apart = unit(anchors) - unit(positives)
    return float(np.einsum("ij,ij->i", apart, apart).mean())


def uniformity(vectors: Floats) -> float:
    """`log mean exp(-2 |x - y|^2)` over all pairs (Wang and Isola, 2020): 0 if all are in one place, to -8."""
    return _uniformity(cosines(vectors))


def _uniformity(near: Floats) -> float:
    return min(float(np.log(np.exp(-2 * squared_distances(near)).mean())), 0.0)


def silhouette(near: Floats, codes: Ints) -> float:
    """How much nearer texts are to their own class than to the next (Rousseeuw, 1987), from cosines (n, n): -1 to 1."""
    distances = np.clip(1.0 - near, 0.0, 2.0)
    np.fill_diagonal(distances, 0.0)
    _, own, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    members = np.eye(len(sizes))[own]
    sums = distances @ members  # (n, classes)
    alone = sizes[own] == 1
    inside = sums[members > 0] / np.maximum(sizes[own] - 1, 1)
    outside = np.where(members > 0, np.inf, sums / sizes).min(axis=1)
    larger = np.maximum(inside, outside)
    found = (outside - inside) / np.where(larger > 0, larger, 1.0)
    return float(np.where(alone, 0.0, found).mean())


def confidence_entropy(probabilities: Floats) -> float:
    """The mean of `-sum s log2 s` over rows of probabilities (n, classes), in bits: 0 if sure, log2(classes) if not."""
    shares = np.asarray(probabilities, dtype=np.float64)
    bits = -shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return max(float(bits.sum(axis=1).mean()), 0.0)
