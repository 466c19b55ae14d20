"""The nearest vectors of other classes: by exact comparison for small tables, with an index for large ones.

Each cell of the index belongs to one class. Once classes are well separated, nearly all of a vector's nearest cells
belong to its own class. Those are skipped, so every cell that is searched is useful.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.errors import MissingExtra

EXACT_UP_TO = 20_000  # vectors: with more, comparing all pairs takes longer than encoding their texts
BLOCK = 128  # vectors whose similarities to all others are in memory at once
CELL = 128  # vectors per cell of the index, on average
CANDIDATES = 8192  # vectors from the nearest cells that each vector is compared with
NONE = -1  # fills the row if there are too few neighbours


def nearest_others(
    vectors: Tensor,
    codes: np.ndarray,
    count: int,
    *,
    seed: int = 0,
    exact_up_to: int = EXACT_UP_TO,
    cell: int = CELL,
    candidates: int = CANDIDATES,
) -> np.ndarray:
    """The nearest rows (n, count) by cosine among those with another code, nearest first, padded with -1.

    Ties go to the row that comes first. `seed` is for the cells of the index.
    """
    z = normalize(vectors.detach().float().cpu(), dim=1)
    if len(z) <= exact_up_to:
        return _exact(z, torch.from_numpy(np.asarray(codes)), count)
    return _by_index(z.contiguous().numpy(), np.asarray(codes), count, seed=seed, cell=cell, candidates=candidates)


def need_index(rows: int, where: str) -> None:
    """Raise, before training, if the table is too large for exact search and faiss is not installed."""
    if rows <= EXACT_UP_TO:
        return
    try:
        import faiss  # noqa: F401
    except ImportError:
        raise MissingExtra(
            f"{where}: hard negatives for {rows:,} texts need an index; install it with: pip install "
            f"'phasefit[index]', or train on at most {EXACT_UP_TO:,} texts"
        ) from None


def _exact(z: Tensor, codes: Tensor, count: int) -> np.ndarray:
    neighbours = np.full((len(z), count), NONE, dtype=np.int64)
    most = min(count, len(z))
    for start in range(0, len(z), BLOCK):
        block = slice(start, start + BLOCK)
        near = (z[block] @ z.T).masked_fill(codes[block, None] == codes[None, :], float("-inf"))
        neighbours[block, :most] = _top_columns(near, most).numpy()
    return neighbours


def _top_columns(values: Tensor, count: int) -> Tensor:
    """The columns of each row's highest values, in descending order, ties by column; -1 for values of -inf."""
    lowest = values.topk(count, dim=1).values[:, -1:]
    above, equal = values > lowest, values == lowest  # topk returns any of equal values
    room = count - above.sum(1, keepdim=True)
    if bool((equal.sum(1, keepdim=True) > room).any()):
        equal &= equal.cumsum(1, dtype=torch.int32) <= room
    chosen = above | equal
    columns = chosen.nonzero()[:, 1].reshape(len(values), count)
    ordered, order = values.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return columns.gather(1, order).masked_fill(ordered == float("-inf"), NONE)


def _by_index(z: np.ndarray, codes: np.ndarray, count: int, *, seed: int, cell: int, candidates: int) -> np.ndarray:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        centres, class_of_cell, cell_of = _cells(faiss, z, codes, cell, seed)
        index = _filled(faiss, z, centres, cell_of)
        neighbours = np.full((len(z), count), NONE, dtype=np.int64)
        probes = -(-candidates * len(centres) // len(z))
        index.nprobe = min(max(probes, count), len(centres))  # no cell is empty, so `count` cells hold enough vectors
        for start in range(0, len(z), BLOCK):
            block = slice(start, start + BLOCK)
            near = torch.from_numpy(z[block] @ centres.T)
            near.masked_fill_(torch.from_numpy(codes[block, None] == class_of_cell), float("-inf"))
            cells = _top_columns(near, index.nprobe)
            similarities = near.gather(1, cells.clamp(min=0))
            _, rows = index.search_preassigned(z[block], count, cells.numpy(), similarities.numpy())
            neighbours[block] = rows
    finally:
        faiss.omp_set_num_threads(threads)
    return neighbours


def _cells(
    faiss: Any, z: np.ndarray, codes: np.ndarray, size: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The centres, the class of each, and the cell of each vector; k-means runs separately for each class."""
    order = np.argsort(codes, kind="stable")
    centres, classes, cell_of, total = [], [], np.empty(len(z), dtype=np.int64), 0
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        vectors = z[rows]
        cells = -(-len(rows) // size)
        means, assigned = vectors.mean(axis=0, keepdims=True), np.zeros(len(rows), dtype=np.int64)
        if cells > 1:
            kmeans = faiss.Kmeans(
                z.shape[1], cells, niter=10, seed=seed % (1 << 31), spherical=True, min_points_per_centroid=1
            )
            kmeans.train(vectors)
            means, assigned = kmeans.centroids, kmeans.assign(vectors)[1]
        used, assigned = np.unique(assigned, return_inverse=True)
        centres.append(means[used])
        classes.append(np.full(len(used), codes[rows[0]]))
        cell_of[rows] = total + assigned
        total += len(used)
    return np.concatenate(centres), np.concatenate(classes), cell_of


def _filled(faiss: Any, z: np.ndarray, centres: np.ndarray, cell_of: np.ndarray) -> Any:
    """An inner-product index with these cells."""
    quantizer = faiss.IndexFlatIP(z.shape[1])
    quantizer.add(centres)
    index = faiss.IndexIVFFlat(quantizer, z.shape[1], len(centres), faiss.METRIC_INNER_PRODUCT)
    index.add_core(len(z), faiss.swig_ptr(z), None, faiss.swig_ptr(cell_of))
    return index
