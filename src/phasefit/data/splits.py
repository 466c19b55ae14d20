"""Which rows train, validate, test: stratified, and made for classes with few rows, which scikit-learn refuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.data.equal_texts import DistinctTexts
from phasefit.errors import DataError
from phasefit.seeds import generator

TRAIN, VALIDATION, TEST = range(3)


@dataclass(frozen=True)
class Splits:
    """Row numbers of each part, ascending, and how many classes have a single row or text (those stay in train)."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    lone: int = 0


def split(codes: np.ndarray, *, validation: float, test: float, seed: int, same: np.ndarray | None = None) -> Splits:
    """Split the rows of these class codes, stratified.

    A class with one row stays in train; with four or more rows it is in every part; between, it goes where rounding
    is fairest, but always to train too. Rows of the same number in `same` are copies of one text and go the same way:
    one row stands for them all, and it is these that are counted.
    """
    if min(validation, test) < 0 or not validation + test < 1:
        raise DataError(
            f"validation ({validation:g}) and test ({test:g}) shares must be 0 or more and leave some rows to train on"
        )
    classes, sizes = _classes(codes)
    shares = np.array([validation, test])
    rng = generator(seed, "split")
    copies = None if same is None else np.unique(same, return_inverse=True)[1].reshape(-1)
    if copies is None or copies.max() + 1 == len(copies):
        parts = _draw(classes, shares, rng)
        return _splits(parts, lone=int((sizes == 1).sum()))
    texts = DistinctTexts.of_rows(copies, classes, sizes)
    smallest = shares[shares > 0].min(initial=1.0)
    parts = _draw(classes[texts.standing], shares, rng, last=texts.fill(classes, smallest))[texts.of]
    parts[np.isin(texts.of, texts.to_keep(classes, parts == TRAIN))] = TRAIN
    return _splits(parts, lone=texts.lone(classes))


def sample(codes: np.ndarray, rows: int, seed: int) -> np.ndarray:
    """A stratified sample of this many rows that keeps one, where possible two, rows of every class."""
    classes, sizes = _classes(codes)
    if rows >= len(classes):
        return np.arange(len(classes), dtype=np.int64)
    if rows < len(sizes):
        raise DataError(f"{rows} rows cannot hold all {len(sizes)} classes; ask for at least {len(sizes)}")
    rng = generator(seed, "sample")
    kept = np.minimum(sizes, 2)
    if kept.sum() > rows:
        kept = np.minimum(sizes, 1)
    wish = np.maximum(rows * sizes / len(classes) - kept, 0)
    left = int(rows - kept.sum())
    if left and wish.sum() > 0:
        kept = kept + _largest_remainder(left * wish / wish.sum(), left, sizes - kept, rng)
    order, rank = _shuffled_ranks(classes, sizes, rng)
    return np.sort(order[rank < kept[classes[order]]])


def folds(codes: np.ndarray, number: int, seed: int, same: np.ndarray | None = None) -> np.ndarray:
    """The fold of each row, 0 to `number` - 1, stratified; -1 for what is never held out: the only text of a class.

    Not scikit-learn's StratifiedGroupKFold, which weighs every group against every fold and so takes minutes where
    this takes milliseconds: copies of one text (equal in `same`) are one text here, dealt out class by class.
    """
    if number < 2:
        raise DataError(f"cross-validation needs at least 2 folds, not {number}")
    classes, sizes = _classes(codes)
    copies = np.arange(len(classes)) if same is None else np.unique(same, return_inverse=True)[1].reshape(-1)
    texts = DistinctTexts.of_rows(copies, classes, sizes)
    owner, counts = _classes(classes[texts.standing])
    order, _ = _shuffled_ranks(owner, counts, generator(seed, "folds"))
    dealt = np.empty(len(order), dtype=np.int64)
    dealt[order] = np.arange(len(order)) % number
    fold_of_row: np.ndarray = dealt[texts.of]
    for one in range(len(sizes)):  # a class that lies in one fold alone could not be learned where that is held out
        own = fold_of_row[classes == one]
        if own.min() == own.max() >= 0:
            fold_of_row[texts.of == texts.of[classes == one][0]] = -1
    return fold_of_row


def few_shot(codes: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    """So many random rows of every class, or all it has."""
    if per_class < 1:
        raise DataError(f"few-shot needs at least one row per class, not {per_class}")
    classes, sizes = _classes(codes)
    order, rank = _shuffled_ranks(classes, sizes, generator(seed, "few-shot"))
    return np.sort(order[rank < per_class])


def _draw(
    codes: np.ndarray, shares: np.ndarray, rng: np.random.Generator, last: np.ndarray | None = None
) -> np.ndarray:
    """The part of each row; rows marked as `last` are held out only where their class has too few others."""
    classes, sizes = _classes(codes)
    held = _held_out(sizes, shares, rng)
    order, rank = _shuffled_ranks(classes, sizes, rng, last)
    first, both = held[classes[order], 0], held[classes[order]].sum(axis=1)
    parts = np.full(len(classes), TRAIN)
    parts[order[rank < first]] = VALIDATION
    parts[order[(rank >= first) & (rank < both)]] = TEST
    return parts


def _splits(parts: np.ndarray, lone: int) -> Splits:
    train, validation, test = (np.flatnonzero(parts == part) for part in (TRAIN, VALIDATION, TEST))
    return Splits(train, validation, test, lone)


def _classes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes without gaps (a class may have no row here) and the size of each class."""
    codes = np.asarray(codes)
    if len(codes) == 0:
        raise DataError("there are no rows to split")
    _, classes, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    return classes.astype(np.int64), sizes.astype(np.int64)


def _held_out(sizes: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many rows of each class (rows) go to validation and to test (columns)."""
    quota = sizes[:, None] * shares[None, :]
    held: np.ndarray = np.floor(quota + 1e-9).astype(np.int64)
    wanted = shares > 0
    # From twice as many rows as there are held-out parts on, train still keeps half: a class is then in every part.
    present = (sizes >= 2 * max(1, int(wanted.sum())))[:, None] & wanted[None, :]
    held = np.where(present, np.maximum(held, 1), held)
    greedy = held.sum(axis=1) >= sizes  # extreme shares with forced presence: train keeps its row
    largest = held.argmax(axis=1)
    held[greedy, largest[greedy]] -= held.sum(axis=1)[greedy] - sizes[greedy] + 1
    for part in np.flatnonzero(wanted):
        room = np.maximum(sizes - 1 - held.sum(axis=1), 0)
        missing = round(float(sizes.sum() * shares[part])) - int(held[:, part].sum())
        rest = np.maximum(quota[:, part] - held[:, part], 0)
        if missing > 0:
            held[:, part] += _largest_remainder(rest, missing, np.minimum(room, 1), rng)
    return held


def _largest_remainder(quota: np.ndarray, total: int, room: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers near the quotas that sum to the total where the room allows; ties are drawn."""
    counts: np.ndarray = np.minimum(np.floor(quota + 1e-9).astype(np.int64), room)
    rest = np.where(counts < room, quota - counts, -1.0)
    order = np.lexsort((rng.random(len(quota)), -np.round(rest, 9)))
    takers = [index for index in order.tolist() if rest[index] > 1e-9][: max(0, total - int(counts.sum()))]
    counts[takers] += 1
    return counts


def _shuffled_ranks(
    classes: np.ndarray, sizes: np.ndarray, rng: np.random.Generator, last: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers grouped by class, shuffled within each (`last` behind), and the place of each within its class."""
    shuffled = rng.permutation(len(classes))
    if last is not None:
        shuffled = shuffled[np.argsort(last[shuffled], kind="stable")]
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order.astype(np.int64), np.arange(len(order), dtype=np.int64) - starts
