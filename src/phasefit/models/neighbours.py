"""The nearest vectors of other classes: compared one by one for small tables, by an index for large ones.

The index keeps each class in cells of its own. A vector's nearest cells are nearly all of its own class once classes
lie apart; here those are never looked at, so what is looked at is all of use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.errors import MissingExtra

EXACT_UP_TO = 20_000  # vectors: beyond, comparing all with all takes longer than encoding their texts
BLOCK = 128  # vectors whose similarities to all others are held at once
CELL = 128  # vectors per cell of the index, on average
LOOKED_AT = 8192  # vectors of the nearest cells that each one is compared with; fewer than that are searched in full
NONE = -1  # in place of a neighbour where there are too few


def nearest_others(
    vectors: Tensor,
    codes: np.ndarray,
    count: int,
    *,
    seed: int = 0,
    exact_up_to: int = EXACT_UP_TO,
    cell: int = CELL,
    looked_at: int = LOOKED_AT,
) -> np.ndarray:
    """The rows (n, count) that are nearest by cosine among those with another code, nearest first, -1 for none.

    Of rows that are equally near, the one that stands first is nearer. `seed` is for the cells of the index.
    """
    z = normalize(vectors.detach().float().cpu(), dim=1)
    if len(z) <= exact_up_to:
        return _exact(z, torch.from_numpy(np.asarray(codes)), count)
    return _by_index(z.contiguous().numpy(), np.asarray(codes), count, seed=seed, cell=cell, looked_at=looked_at)


def need_index(rows: int, where: str) -> None:
    """Refuse, before anything is trained, a table that is too large to be searched without the index's library."""
    if rows <= EXACT_UP_TO:
        return
    try:
        import faiss  # noqa: F401
    except ImportError:
        raise MissingExtra(
            f"{where}: hard negatives of {rows:,} texts need an index: pip install 'phasefit[index]', or train on at "
            f"most {EXACT_UP_TO:,}"
        ) from None


def _exact(z: Tensor, codes: Tensor, count: int) -> np.ndarray:
    neighbours = np.full((len(z), count), NONE, dtype=np.int64)
    most = min(count, len(z))
    for start in range(0, len(z), BLOCK):
        block = slice(start, start + BLOCK)
        near = (z[block] @ z.T).masked_fill(codes[block, None] == codes[None, :], float("-inf"))
        neighbours[block, :most] = _first_of_the_highest(near, most).numpy()
    return neighbours


def _first_of_the_highest(values: Tensor, count: int) -> Tensor:
    """Columns of each row's highest values, highest first and of equal ones the first; -1 where they are -inf."""
    lowest = values.topk(count, dim=1).values[:, -1:]
    above, equal = values > lowest, values == lowest  # topk takes any of equal values
    room = count - above.sum(1, keepdim=True)
    if bool((equal.sum(1, keepdim=True) > room).any()):
        equal &= equal.cumsum(1, dtype=torch.int32) <= room
    chosen = above | equal
    columns = chosen.nonzero()[:, 1].reshape(len(values), count)
    ordered, order = values.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return columns.gather(1, order).masked_fill(ordered == float("-inf"), NONE)


def _by_index(z: np.ndarray, codes: np.ndarray, count: int, *, seed: int, cell: int, looked_at: int) -> np.ndarray:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        centres, class_of_cell, cell_of = _cells(faiss, z, codes, cell, seed)
        index = _filled(faiss, z, centres, cell_of)
        neighbours = np.full((len(z), count), NONE, dtype=np.int64)
        probes = -(-looked_at * len(centres) // len(z))
        index.nprobe = min(max(probes, count), len(centres))  # no cell is empty, so as many cells hold enough
        for start in range(0, len(z), BLOCK):
            block = slice(start, start + BLOCK)
            near = torch.from_numpy(z[block] @ centres.T)
            near.masked_fill_(torch.from_numpy(codes[block, None] == class_of_cell), float("-inf"))
            cells = _first_of_the_highest(near, index.nprobe)
            worth = near.gather(1, cells.clamp(min=0))
            _, rows = index.search_preassigned(z[block], count, cells.numpy(), worth.numpy())
            neighbours[block] = rows
    finally:
        faiss.omp_set_num_threads(threads)
    return neighbours


def _cells(
    faiss: Any, z: np.ndarray, codes: np.ndarray, size: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, the class of each, and each vector's cell; every class is cut by k-means of its own."""
    order = np.argsort(codes, kind="stable")
    centres, classes, cell_of, made = [], [], np.empty(len(z), dtype=np.int64), 0
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        mine = z[rows]
        wanted = -(-len(rows) // size)
        means, own = mine.mean(axis=0, keepdims=True), np.zeros(len(rows), dtype=np.int64)
        if wanted > 1:
            kmeans = faiss.Kmeans(
                z.shape[1], wanted, niter=10, seed=seed % (1 << 31), spherical=True, min_points_per_centroid=1
            )
            kmeans.train(mine)
            means, own = kmeans.centroids, kmeans.assign(mine)[1]
        used, own = np.unique(own, return_inverse=True)
        centres.append(means[used])
        classes.append(np.full(len(used), codes[rows[0]]))
        cell_of[rows] = made + own
        made += len(used)
    return np.concatenate(centres), np.concatenate(classes), cell_of


def _filled(faiss: Any, z: np.ndarray, centres: np.ndarray, cell_of: np.ndarray) -> Any:
    """An index of inner products whose cells are those given."""
    quantizer = faiss.IndexFlatIP(z.shape[1])
    quantizer.add(centres)
    index = faiss.IndexIVFFlat(quantizer, z.shape[1], len(centres), faiss.METRIC_INNER_PRODUCT)
    index.add_core(len(z), faiss.swig_ptr(z), None, faiss.swig_ptr(cell_of))
    return index
