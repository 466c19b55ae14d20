"""Groups of one class, and batches of groups, with texts of similar length.

Lengths are jittered before sorting, so that rows have different neighbours in each epoch.
"""

from __future__ import annotations

import numpy as np

JITTER = 0.1  # lengths vary by up to this share
TOGETHER = 4  # batches of neighbouring lengths over which classes are spread evenly
FINE = 16  # and at most 1/16 of all batches, because a small table has few batches to separate lengths


def similar_groups(
    rows: np.ndarray, others: np.ndarray, lengths: np.ndarray, each: int, random: np.random.Generator
) -> np.ndarray:
    """Rows of a class in groups (groups, each) of similar length, every row at least once.

    If rows are missing, neighbouring groups overlap at random, so that no group holds a row twice. If the rows do not
    fill one group, it is filled with the `others` of the class that have the closest lengths, then with copies.
    """
    order = rows[np.argsort(jittered(lengths[rows], random), kind="stable")]
    # The lengths of a small class are far apart, and jitter alone would give the same groups in every epoch.
    order = order[np.argsort(np.arange(len(order)) + each * random.random(len(order)), kind="stable")]
    count = -(-len(rows) // each)
    missing = count * each - len(rows)
    if count > 1:
        overlap = np.bincount(random.integers(1, count, missing), minlength=count).cumsum()
        begins = np.arange(count) * each - overlap
        groups: np.ndarray = order[begins[:, None] + np.arange(each)]
        return groups
    fillers = nearest(others, lengths, float(lengths[rows].mean()), missing, random)
    known = np.concatenate([order, fillers])
    copies = random.choice(known, each - len(known), replace=each - len(known) > len(known))
    return np.concatenate([known, copies])[None, :]


def nearest(
    rows: np.ndarray, lengths: np.ndarray, wanted: float, count: int, random: np.random.Generator
) -> np.ndarray:
    """At most `count` of the rows, those whose jittered length is closest to `wanted`."""
    return rows[np.argsort(np.abs(jittered(lengths[rows], random) - wanted), kind="stable")[:count]]


def jittered(lengths: np.ndarray, random: np.random.Generator, share: float = JITTER) -> np.ndarray:
    """Lengths with random noise of up to `share`, which also breaks ties at random."""
    noisy: np.ndarray = lengths * (1 + share * (2 * random.random(len(lengths)) - 1))
    return noisy


def similar_batches(
    longest: np.ndarray, owners: np.ndarray, size: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Groups, each given by its longest text and its class, in batches of `size`; one random batch may be smaller.

    Groups are sorted by length. Classes are then spread evenly over every few neighbouring batches, so that a batch has
    about the class distribution of all texts of its lengths. The batches are in random order.
    """
    count = -(-len(longest) // size)
    sizes = np.full(count, size)
    sizes[random.integers(count)] -= count * size - len(longest)
    batch = np.repeat(np.arange(count), sizes)
    together = max(1, min(TOGETHER, count // FINE))
    stretch = np.empty(len(longest), dtype=np.int64)
    by_length = np.lexsort((random.random(len(longest)), longest))
    stretch[by_length] = (batch + random.integers(together)) // together
    order = np.lexsort((_spread(stretch, owners, random), stretch))
    parts = np.split(order, np.cumsum(sizes)[:-1])
    return [parts[index] for index in random.permutation(count)]


def _spread(stretch: np.ndarray, owners: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Positions in [0, 1): those of one class are evenly spaced within their stretch."""
    order = np.lexsort((random.random(len(owners)), owners, stretch))
    new = (np.diff(stretch[order], prepend=-1) != 0) | (np.diff(owners[order], prepend=-1) != 0)
    first = np.flatnonzero(new)
    counts = np.diff(first, append=len(order))
    rank = np.arange(len(order)) - np.repeat(first, counts)
    positions = np.empty(len(order))
    positions[order] = (rank + random.random(len(order))) / np.repeat(counts, counts)
    return positions
