"""Stratified splits into train, validation and test, also for classes too small for scikit-learn's splitters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.data.equal_texts import DistinctTexts
from phasefit.errors import DataError
from phasefit.seeds import generator

TRAIN, VALIDATION, TEST = range(3)


@dataclass(frozen=True)
class Splits:
    """Row numbers of each part, ascending; `lone` counts the classes with a single row or text, which stay in train."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    lone: int = 0


def split(codes: np.ndarray, *, validation: float, test: float, seed: int, same: np.ndarray | None = None) -> Splits:
    """Split rows by their class codes, stratified.

    A class with one row stays in train; a class with four or more rows is in every part. A class in between is always
    in train, and in the other parts as rounding allows. Rows with equal numbers in `same` are copies of one text and
    go to the same part; the shares count distinct texts.
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
    last = texts.too_frequent(classes, smallest)
    parts = _draw(classes[texts.representative], shares, rng, last=last)[texts.of_row]
    parts[np.isin(texts.of_row, texts.to_keep(classes, parts == TRAIN))] = TRAIN
    return _splits(parts, lone=texts.lone(classes))


def sample(codes: np.ndarray, rows: int, seed: int) -> np.ndarray:
    """A stratified sample of `rows` rows with at least one, and if possible two, rows of every class."""
    classes, sizes = _classes(codes)
    if rows >= len(classes):
        return np.arange(len(classes), dtype=np.int64)
    if rows < len(sizes):
        raise DataError(f"{rows} rows cannot include all {len(sizes)} classes; use at least {len(sizes)}")
    rng = generator(seed, "sample")
    kept = np.minimum(sizes, 2)
    if kept.sum() > rows:
        kept = np.minimum(sizes, 1)
    wanted = np.maximum(rows * sizes / len(classes) - kept, 0)
    left = int(rows - kept.sum())
    if left and wanted.sum() > 0:
        kept = kept + _largest_remainder(left * wanted / wanted.sum(), left, sizes - kept, rng)
    order, rank = _shuffled_ranks(classes, sizes, rng)
    return np.sort(order[rank < kept[classes[order]]])


def folds(codes: np.ndarray, number: int, seed: int, same: np.ndarray | None = None) -> np.ndarray:
    """The fold of each row, 0 to `number` - 1, stratified; -1 for the only text of a class, which is never held out.

    Copies of one text (equal in `same`) share a fold. scikit-learn's StratifiedGroupKFold compares every group with
    every fold and takes minutes; dealing out the texts class by class takes milliseconds.
    """
    if number < 2:
        raise DataError(f"cross-validation needs at least 2 folds, not {number}")
    classes, sizes = _classes(codes)
    copies = np.arange(len(classes)) if same is None else np.unique(same, return_inverse=True)[1].reshape(-1)
    texts = DistinctTexts.of_rows(copies, classes, sizes)
    class_of_text, counts = _classes(classes[texts.representative])
    order, _ = _shuffled_ranks(class_of_text, counts, generator(seed, "folds"))
    fold_of_text = np.empty(len(order), dtype=np.int64)
    fold_of_text[order] = np.arange(len(order)) % number
    fold_of_row: np.ndarray = fold_of_text[texts.of_row]
    for code in range(len(sizes)):  # a class in a single fold could not be learned while that fold is held out
        class_folds = fold_of_row[classes == code]
        if class_folds.min() == class_folds.max() >= 0:
            fold_of_row[texts.of_row == texts.of_row[classes == code][0]] = -1
    return fold_of_row


def few_shot(codes: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    """At most `per_class` random rows of every class."""
    if per_class < 1:
        raise DataError(f"few-shot needs at least one row per class, not {per_class}")
    classes, sizes = _classes(codes)
    order, rank = _shuffled_ranks(classes, sizes, generator(seed, "few-shot"))
    return np.sort(order[rank < per_class])


def _draw(
    codes: np.ndarray, shares: np.ndarray, rng: np.random.Generator, last: np.ndarray | None = None
) -> np.ndarray:
    """The part of each row; rows marked as `last` are held out only if their class has too few others."""
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
    """Codes without gaps (some classes may have no rows here), and the size of each class."""
    codes = np.asarray(codes)
    if len(codes) == 0:
        raise DataError("there are no rows to split")
    _, classes, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    return classes.astype(np.int64), sizes.astype(np.int64)


def _held_out(sizes: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The number of rows of each class (rows) in validation and in test (columns)."""
    quota = sizes[:, None] * shares[None, :]
    held: np.ndarray = np.floor(quota + 1e-9).astype(np.int64)
    wanted = shares > 0
    # With at least two rows per held-out part, a class is in every part, and train still keeps half of its rows.
    present = (sizes >= 2 * max(1, int(wanted.sum())))[:, None] & wanted[None, :]
    held = np.where(present, np.maximum(held, 1), held)
    greedy = held.sum(axis=1) >= sizes  # extreme shares: train still keeps one row
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
    """Whole numbers near the quotas that sum to the total if the room allows; ties are broken at random."""
    counts: np.ndarray = np.minimum(np.floor(quota + 1e-9).astype(np.int64), room)
    rest = np.where(counts < room, quota - counts, -1.0)
    order = np.lexsort((rng.random(len(quota)), -np.round(rest, 9)))
    takers = [index for index in order.tolist() if rest[index] > 1e-9][: max(0, total - int(counts.sum()))]
    counts[takers] += 1
    return counts


def _shuffled_ranks(
    classes: np.ndarray, sizes: np.ndarray, rng: np.random.Generator, last: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers grouped by class, shuffled within each class (`last` rows last), and the rank within the class."""
    shuffled = rng.permutation(len(classes))
    if last is not None:
        shuffled = shuffled[np.argsort(last[shuffled], kind="stable")]
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order.astype(np.int64), np.arange(len(order), dtype=np.int64) - starts
