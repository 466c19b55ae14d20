"""Imbalance correction (Lopez-Avila and Suarez-Paniagua, 2023): oversample small classes, logarithmically."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from phasefit.errors import RecipeError, did_you_mean
from phasefit.seeds import generator

MODES = ("paper", "code", "none")


def growth(size: int, largest: int, max_ratio: float) -> float:
    """f(x) = ln(M/x) * R / ln(M): R for a class with one row, 0 for the largest class."""
    if largest <= 1:  # ln(1) = 0: all classes have one row, so none needs to grow
        return 0.0
    return math.log(largest / size) * max_ratio / math.log(largest)


def corrected_sizes(
    sizes: Sequence[int] | np.ndarray, mode: str = "code", min_ratio: float = 1.5, max_ratio: float = 4.0
) -> np.ndarray:
    """The size of each class after the correction.

    `paper`: every class, also the largest, grows by max(min_ratio, f). `code`: classes with f >= min_ratio grow by
    round(f), the others stay. `none`: no class grows.
    """
    if mode not in MODES:
        raise RecipeError(f"unknown imbalance correction '{mode}'; {did_you_mean(mode, MODES)}")
    old = np.asarray(sizes, dtype=np.int64)
    if mode == "none" or old.size == 0:
        return old.copy()
    largest = int(old.max())
    return np.array([_grown(int(size), largest, mode, min_ratio, max_ratio) for size in old], dtype=np.int64)


def corrected_rows(
    codes: np.ndarray, *, mode: str = "code", min_ratio: float = 1.5, max_ratio: float = 4.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers after the correction (all rows in order, then the copies), and a mask of the copies (noisy)."""
    codes = np.asarray(codes)
    rows = np.arange(len(codes), dtype=np.int64)
    _, classes, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    extra = corrected_sizes(sizes, mode, min_ratio, max_ratio) - sizes
    grouped = np.argsort(classes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    rng = generator(seed, "balance")
    copies = [_copies(grouped[starts[c] : starts[c] + sizes[c]], int(extra[c]), rng) for c in np.flatnonzero(extra > 0)]
    rows = np.concatenate([rows, *copies]).astype(np.int64)
    return rows, np.arange(len(rows)) >= len(codes)


def _grown(size: int, largest: int, mode: str, min_ratio: float, max_ratio: float) -> int:
    if size == 0:
        return 0
    ratio = growth(size, largest, max_ratio)
    if mode == "paper":
        return max(size, round(max(min_ratio, ratio) * size))
    return size * max(1, round(ratio)) if ratio >= min_ratio else size


def _copies(rows: np.ndarray, extra: int, rng: np.random.Generator) -> np.ndarray:
    """`extra` copies of these rows; the copy counts of two rows differ by at most one."""
    whole, part = divmod(extra, len(rows))
    return np.concatenate([np.tile(rows, whole), rng.choice(rows, size=part, replace=False)])
