"""Two-dimensional layouts (t-SNE) of the same texts that change as little as possible from stage to stage."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.geometry import unit

Floats = NDArray[np.floating[Any]]

FEW = 10  # fewer points are laid out by PCA
PERPLEXITY = 30.0


def stage_layouts(stages: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the layouts of named stages, in order, without the warnings of scikit-learn, which no user can act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(zip(stages, stable_layouts(list(stages.values())), strict=True))


def method(points: int) -> str:
    """Return the name of the method that lays out this number of points."""
    return "PCA" if points < FEW else "t-SNE"


def stable_layouts(stages: Sequence[Floats]) -> list[Floats]:
    """Return a layout (n, 2) for the vectors (n, d) of each stage; d may differ, the n texts are the same.

    The first layout is t-SNE initialised with the principal axes. Each later one starts from the previous layout,
    without early exaggeration, and is then rotated towards it (Procrustes), so that points move only if their vectors
    did. Distances are cosine distances. The same vectors give the same layout for any number of threads.
    """
    import sklearn.manifold  # noqa: F401 - threadpool_limits applies only to libraries that are already loaded
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    with threadpool_limits(1):  # sums over several threads have no fixed order
        return _layouts(stages)


def _layouts(stages: Sequence[Floats]) -> list[Floats]:
    layouts: list[Floats] = []
    previous: Floats | None = None
    for vectors in stages:
        points = unit(vectors)
        if previous is not None and np.array_equal(points, previous):  # the phase did not change the encoder
            layouts.append(layouts[-1])
            continue
        previous = points
        if len(points) < FEW:
            layout = principal_axes(points)
        elif layouts and np.ptp(layouts[-1]) > 0:
            layout = neighbours_layout(points, layouts[-1], exaggerate=False)
        else:
            layout = neighbours_layout(points, principal_axes(points), exaggerate=True)
        layouts.append(rotated(layout, layouts[-1] if layouts else principal_axes(points)))
    return layouts


def principal_axes(points: Floats) -> Floats:
    """Return coordinates (n, 2) along the two directions of largest variance."""
    centred = points - points.mean(axis=0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    # The signs of singular vectors are arbitrary.
    sign = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])
    axes = (left * sizes * sign)[:, :2]
    return np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))


def neighbours_layout(points: Floats, start: Floats, *, exaggerate: bool) -> Floats:
    """Run t-SNE from a given layout, with or without early exaggeration; all at 0 if all points are identical."""
    from sklearn.manifold import TSNE

    if np.ptp(points, axis=0).max() < 1e-6:
        return np.zeros((len(points), 2))
    scale = 1e-4 / start.std(axis=0).max() if exaggerate else 1.0
    # Points that start at the same position, such as equal texts, have equal gradients and never separate: add noise.
    noise = np.random.default_rng(0).normal(scale=1e-6, size=start.shape)
    tsne = TSNE(
        init=(start * scale + noise).astype(np.float32),
        perplexity=min(PERPLEXITY, (len(points) - 1) / 3),
        early_exaggeration=12.0 if exaggerate else 1.0,
        max_iter=500 if exaggerate else 300,
        random_state=0,
    )
    return np.asarray(tsne.fit_transform(points.astype(np.float32)), dtype=np.float64)


def rotated(layout: Floats, target: Floats) -> Floats:
    """Centre, rotate and mirror a layout so that its points are as close as possible to those of the target."""
    centred, other = layout - layout.mean(axis=0), target - target.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ other)
    return np.asarray(centred @ (left @ right))


def agreement(vectors: Floats, codes: NDArray[np.integer[Any]]) -> float | None:
    """Return the share of texts whose nearest other text has the same class; None if no class has two texts."""
    points = unit(vectors)
    near = points @ points.T
    np.fill_diagonal(near, -np.inf)
    paired = np.bincount(codes)[codes] > 1
    return float((codes[near.argmax(axis=1)] == codes)[paired].mean()) if paired.any() else None
