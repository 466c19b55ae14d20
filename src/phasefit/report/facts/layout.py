"""Vectors in the plane: t-SNE layouts of the same texts that move as little as they can from stage to stage."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.metrics.geometry import unit

Floats = NDArray[np.floating[Any]]

FEW = 10  # points up to which two principal axes say it all
PERPLEXITY = 30.0


def stage_layouts(stages: Mapping[str, Floats]) -> dict[str, Floats]:
    """The layouts of named stages, in order; what scikit-learn has to warn of is no news to who trains a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(zip(stages, stable_layouts(list(stages.values())), strict=True))


def method(points: int) -> str:
    """How so many points are laid out, in words."""
    return "their principal axes" if points < FEW else "t-SNE"


def stable_layouts(stages: Sequence[Floats]) -> list[Floats]:
    """A layout (n, 2) for each stage's vectors (n, d); d may differ between stages, the n texts are the same.

    The first is t-SNE from the principal axes. Each next one goes on from the layout before it, without the shaking up
    that t-SNE begins with, and is then turned towards it (Procrustes): what moves has moved in the vectors. Distances
    are those of cosines. The same vectors give the same layout, however many threads there are.
    """
    import sklearn.manifold  # noqa: F401 - only the thread pools of what is loaded are limited
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    with threadpool_limits(1):  # sums over threads come out in any order
        return _layouts(stages)


def _layouts(stages: Sequence[Floats]) -> list[Floats]:
    layouts: list[Floats] = []
    before: Floats | None = None
    for vectors in stages:
        points = unit(vectors)
        if before is not None and np.array_equal(points, before):  # a phase that kept what it was given
            layouts.append(layouts[-1])
            continue
        before = points
        if len(points) < FEW:
            layout = principal_axes(points)
        elif layouts and np.ptp(layouts[-1]) > 0:
            layout = neighbours_layout(points, layouts[-1], shake=False)
        else:
            layout = neighbours_layout(points, principal_axes(points), shake=True)
        layouts.append(turned(layout, layouts[-1] if layouts else principal_axes(points)))
    return layouts


def principal_axes(points: Floats) -> Floats:
    """The coordinates (n, 2) along the two directions in which the points vary most."""
    centred = points - points.mean(axis=0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    sign = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])  # a singular vector may point either way
    axes = (left * sizes * sign)[:, :2]
    return np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))


def neighbours_layout(points: Floats, start: Floats, *, shake: bool) -> Floats:
    """t-SNE from a given start, shrunk and shaken up first or not; points that are all in one place stay there."""
    from sklearn.manifold import TSNE

    if np.ptp(points, axis=0).max() < 1e-6:
        return np.zeros((len(points), 2))
    scale = 1e-4 / start.std(axis=0).max() if shake else 1.0
    # Points that start in one place never part (their gradients are equal), and equal texts do: a breath of noise.
    noise = np.random.default_rng(0).normal(scale=1e-6, size=start.shape)
    tsne = TSNE(
        init=(start * scale + noise).astype(np.float32),
        perplexity=min(PERPLEXITY, (len(points) - 1) / 3),
        early_exaggeration=12.0 if shake else 1.0,
        max_iter=500 if shake else 300,
        random_state=0,
    )
    return np.asarray(tsne.fit_transform(points.astype(np.float32)), dtype=np.float64)


def turned(layout: Floats, towards: Floats) -> Floats:
    """The layout, centred, turned and mirrored so that its points lie as near as they can to the other's."""
    centred, other = layout - layout.mean(axis=0), towards - towards.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ other)
    return np.asarray(centred @ (left @ right))


def agreement(vectors: Floats, codes: NDArray[np.integer[Any]]) -> float | None:
    """The share of texts whose nearest other text, by cosine, is of their class; None if no class has two texts."""
    points = unit(vectors)
    near = points @ points.T
    np.fill_diagonal(near, -np.inf)
    paired = np.bincount(codes)[codes] > 1
    return float((codes[near.argmax(axis=1)] == codes)[paired].mean()) if paired.any() else None
