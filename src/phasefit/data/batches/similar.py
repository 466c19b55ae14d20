"""Groups of one class, and batches of groups, that hold texts of similar length.

Lengths are jittered before they are compared, so that rows meet other neighbours in every epoch.
"""

from __future__ import annotations

import numpy as np

JITTER = 0.1  # a length counts as up to this share more or less
TOGETHER = 4  # batches of neighbouring lengths among which classes are spread evenly
FINE = 16  # but no more than this share of the epoch's: a small table has few batches to tell lengths apart with


def similar_groups(
    rows: np.ndarray, others: np.ndarray, lengths: np.ndarray, each: int, random: np.random.Generator
) -> np.ndarray:
    """Rows of a class in groups (groups, each) of similar length, every row at least once.

    What lacks is repeated: groups overlap somewhere, so that no group holds a row twice. Too few rows for one group are
    joined by the `others` of their class that come nearest, and by copies when there are none left.
    """
    order = rows[np.argsort(jittered(lengths[rows], random), kind="stable")]
    # In a small class lengths are far apart, and it would be cut into the same groups again and again.
    order = order[np.argsort(np.arange(len(order)) + each * random.random(len(order)), kind="stable")]
    count = -(-len(rows) // each)
    lack = count * each - len(rows)
    if count > 1:
        overlap = np.bincount(random.integers(1, count, lack), minlength=count).cumsum()
        begins = np.arange(count) * each - overlap
        groups: np.ndarray = order[begins[:, None] + np.arange(each)]
        return groups
    fillers = nearest(others, lengths, float(lengths[rows].mean()), lack, random)
    known = np.concatenate([order, fillers])
    copies = random.choice(known, each - len(known), replace=each - len(known) > len(known))
    return np.concatenate([known, copies])[None, :]


def nearest(rows: np.ndarray, lengths: np.ndarray, wanted: float, many: int, random: np.random.Generator) -> np.ndarray:
    """As many of the rows, or all, whose jittered length comes nearest."""
    return rows[np.argsort(np.abs(jittered(lengths[rows], random) - wanted), kind="stable")[:many]]


def jittered(lengths: np.ndarray, random: np.random.Generator, share: float = JITTER) -> np.ndarray:
    """Lengths, each a little more or less; equal ones are told apart by chance."""
    by_chance: np.ndarray = lengths * (1 + share * (2 * random.random(len(lengths)) - 1))
    return by_chance


def similar_batches(
    longest: np.ndarray, owners: np.ndarray, size: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Groups (each by its longest text and its class) in batches of `size`; one of them, any, may be smaller.

    Groups are sorted by length. Among every few batches that follow each other the classes are then spread evenly, so
    that a batch looks like the table as far as texts of its lengths do. The batches come in random order.
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
    return [parts[place] for place in random.permutation(count)]


def _spread(stretch: np.ndarray, owners: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Places in [0, 1): those of one class are evenly apart inside their stretch."""
    order = np.lexsort((random.random(len(owners)), owners, stretch))
    new = (np.diff(stretch[order], prepend=-1) != 0) | (np.diff(owners[order], prepend=-1) != 0)
    first = np.flatnonzero(new)
    counts = np.diff(first, append=len(order))
    rank = np.arange(len(order)) - np.repeat(first, counts)
    places = np.empty(len(order))
    places[order] = (rank + random.random(len(order))) / np.repeat(counts, counts)
    return places
