"""Batches that hold several texts of each of their classes, and at least two classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.batches.similar import nearest, similar_batches, similar_groups
from phasefit.seeds import generator

LOOSE = 0.1  # share of batches that ignore lengths, so that short texts also meet long ones
LOOSE_TOKENS = 0.2  # fewer of them, if a few long texts would pad them to more than this share of all tokens
CANDIDATES = 8  # candidate rows per row that is chosen by its length

Groups: TypeAlias = tuple[np.ndarray, np.ndarray]  # rows (groups, per_class) and the class of each group

_NONE = np.empty(0, dtype=np.int64)


class ClassBatches:
    """Each batch consists of groups of `per_class` texts of one class; an epoch uses every row at least once.

    The last group of a class is filled up with repeated rows. The groups of a class are spread evenly over the epoch,
    so that a batch has about the class distribution of the table: if not all classes fit, each batch holds a changing
    selection, larger classes more often. A batch with only one class gets an extra group of another class.

    With `lengths`, the texts of a group have similar lengths, and so do those of a batch. Classes are then spread over
    a few batches of neighbouring lengths if the table is large enough. A tenth of the batches (fewer if lengths differ
    widely) ignores lengths and draws rows at random. Over the epochs every row therefore meets every other, rows of
    similar length more often.

    `named` are the codes of further rows, numbered after the others: texts that represent their class, such as its
    name. Every batch gets one of them for each of its classes, in addition to its size; if these are fewer than
    `least_named`, other classes drawn at random are represented too.
    """

    def __init__(
        self,
        codes: np.ndarray,
        *,
        batch_size: int,
        per_class: int,
        seed: int,
        named: np.ndarray | None = None,
        least_named: int = 0,
        lengths: np.ndarray | None = None,  # lengths[i] belongs to codes[i]
    ) -> None:
        by_class = np.argsort(codes, kind="stable")  # one sort instead of a scan of all rows per class
        self._classes = np.split(by_class, np.flatnonzero(np.diff(codes[by_class])) + 1)
        if len(self._classes) < 2:
            raise ValueError("class-aware batches need at least two classes")
        self._each = max(2, min(per_class, batch_size // 2))
        self._groups = max(2, batch_size // self._each)
        self._seed, self._lengths = seed, lengths
        self._loose_share = 1.0 if lengths is None else _loose_share(lengths, self.size, seed)
        self._named = _by_code(codes, _NONE if named is None else named)
        self._least_named = least_named
        self._total = sum(-(-len(rows) // self._each) for rows in self._classes)

    @property
    def size(self) -> int:
        """Texts in a batch, without those that represent a class."""
        return self._groups * self._each

    def __len__(self) -> int:
        return -(-self._total // self._groups)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        random = generator(self._seed, "class-aware", number)
        batches = self._any_lengths(random) if self._lengths is None else self._similar(self._lengths, random)
        for groups, classes in batches:
            if len(set(classes.tolist())) < 2:
                other, extra = self._other_class(int(classes[0]), groups, random)
                groups, classes = np.concatenate([groups, extra]), np.append(classes, other)
            yield {"rows": np.concatenate([groups.reshape(-1), self._names(classes, random)])}

    def _any_lengths(self, random: np.random.Generator) -> list[Groups]:
        """All classes in random groups."""
        groups, positions = [], []
        for rows in self._classes:
            class_groups = self._group(rows, random)
            groups.append(class_groups)
            positions.append(_evenly(len(class_groups), random))
        owners = np.repeat(np.arange(len(groups)), [len(class_groups) for class_groups in groups])
        return self._by_position(np.concatenate(groups), owners, np.concatenate(positions))

    def _similar(self, lengths: np.ndarray, random: np.random.Generator) -> list[Groups]:
        """A few random batches, the others of similar lengths; all in random order."""
        loose = self._loose(random)
        groups: list[np.ndarray] = []
        loose_groups: list[np.ndarray] = []
        owners: list[int] = []
        for code, (rows, count) in enumerate(zip(self._classes, loose.tolist(), strict=True)):
            order = random.permutation(rows)
            taken, rest = order[: count * self._each], order[count * self._each :]
            if count:
                missing = count * self._each - len(taken)
                repeated = random.choice(rows, missing, replace=missing > len(rows))
                loose_groups.append(np.concatenate([taken, repeated]).reshape(-1, self._each))
            if len(rest):
                groups.append(similar_groups(rest, taken, lengths, self._each, random))
                owners += [code] * len(groups[-1])
        batches: list[Groups] = []
        if groups:
            all_groups, all_owners = np.concatenate(groups), np.array(owners)
            parts = similar_batches(lengths[all_groups].max(axis=1), all_owners, self._groups, random)
            batches = [(all_groups[part], all_owners[part]) for part in parts]
        if loose_groups:
            positions = np.concatenate([_evenly(len(class_groups), random) for class_groups in loose_groups])
            loose_owners = np.repeat(np.arange(len(loose)), loose)
            batches += self._by_position(np.concatenate(loose_groups), loose_owners, positions)
        return [batches[index] for index in random.permutation(len(batches))]

    def _loose(self, random: np.random.Generator) -> np.ndarray:
        """The number of groups of each class that go into batches that ignore lengths; these batches are full."""
        batches = min(int(self._loose_share * len(self) + random.random()), self._total // self._groups)
        counts = [-(-len(rows) // self._each) for rows in self._classes]
        owners = np.repeat(np.arange(len(counts)), counts)
        return np.bincount(random.choice(owners, batches * self._groups, replace=False), minlength=len(counts))

    def _by_position(self, groups: np.ndarray, owners: np.ndarray, positions: np.ndarray) -> list[Groups]:
        """Batches of groups in the order of their positions."""
        order = np.argsort(positions, kind="stable")
        parts = [order[start : start + self._groups] for start in range(0, len(order), self._groups)]
        return [(groups[part], owners[part]) for part in parts]

    def _group(self, rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The rows of a class in groups, (groups, per_class); the last group is filled up with repeated rows."""
        order = random.permutation(rows)
        missing = -len(order) % self._each
        if missing:
            repeated = random.choice(rows, missing, replace=missing > len(rows))
            order = np.concatenate([order, repeated])
        return order.reshape(-1, self._each)

    def _other_class(self, code: int, groups: np.ndarray, random: np.random.Generator) -> tuple[int, np.ndarray]:
        """Another class and one group of it, close to the length of these groups if lengths are known."""
        other = int(random.choice([other for other in range(len(self._classes)) if other != code]))
        rows = self._classes[other]
        if self._lengths is None or len(rows) <= self._each:
            return other, random.choice(rows, (1, self._each), replace=len(rows) < self._each)
        candidates = random.choice(rows, min(len(rows), CANDIDATES * self._each), replace=False)
        wanted = float(self._lengths[groups].mean())
        return other, nearest(candidates, self._lengths, wanted, self._each, random)[None, :]

    def _names(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """One row that represents each of these classes, if it has any, and others up to the least number."""
        own = [code for code in np.unique(classes).tolist() if code in self._named]
        more = min(self._least_named, len(self._named)) - len(own)
        if more > 0:
            own += random.choice(np.setdiff1d(list(self._named), own), more, replace=False).tolist()
        known = [self._named[code] for code in own]
        # In random order, because several processes divide them.
        return random.permutation(np.array([random.choice(rows) for rows in known], dtype=np.int64)) if known else _NONE


def _evenly(count: int, random: np.random.Generator) -> np.ndarray:
    """Positions of a class's groups in the epoch, in random order but evenly spaced."""
    return (random.permutation(count) + random.random(count)) / count


def _loose_share(lengths: np.ndarray, size: int, seed: int) -> float:
    """The share of batches that ignore lengths, limited by the cost of padding them."""
    order = generator(seed, "class-aware", "loose").permutation(lengths)
    longest = np.maximum.reduceat(order, np.arange(0, len(order), size)).mean()
    return float(min(LOOSE, LOOSE_TOKENS * order.mean() / max(longest, 1)))


def _by_code(codes: np.ndarray, named: np.ndarray) -> dict[int, np.ndarray]:
    """The rows that represent a class, by the index of its code; only for classes that have other rows."""
    indices = {code: index for index, code in enumerate(np.unique(codes).tolist())}
    return {indices[code]: len(codes) + np.flatnonzero(named == code) for code in set(named.tolist()) & indices.keys()}
