"""Batches in which every text has company of its class, and every class company of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.batches.similar import nearest, similar_batches, similar_groups
from phasefit.seeds import generator

LOOSE = 0.1  # of the batches take no heed of lengths, so that short texts meet long ones too
LOOSE_TOKENS = 0.2  # but fewer, where a few long texts would make them as large as this share of all tokens
LOOKED_AT = 8  # times as many rows as are wanted, when some are picked by their length

Groups: TypeAlias = tuple[np.ndarray, np.ndarray]  # rows (groups, per_class), and the class of each group

_NONE = np.empty(0, dtype=np.int64)


class ClassBatches:
    """Each batch is groups of `per_class` texts of one class; an epoch sees every row at least once.

    A class too small for its last group is drawn from again. A class's groups are spread evenly over the epoch, so a
    batch looks like the table: with more classes than fit, each batch holds a changing choice of them, the larger ones
    more often. A batch that would be left with one class gets a group of another one on top.

    Given the texts' `lengths`, a group holds similar ones, and so does a batch: classes are then spread over a few
    batches of neighbouring lengths, where the table is large enough. A tenth of the batches (fewer, where lengths
    differ very much) stays as it is without lengths, its rows drawn by chance; so over the epochs every row meets every
    other, those of its length more often.

    `named` are codes of further rows, numbered behind the others: texts that stand for their class, of which every
    batch gets one for each of its classes, on top of its size.
    """

    def __init__(
        self,
        codes: np.ndarray,
        *,
        batch_size: int,
        per_class: int,
        seed: int,
        named: np.ndarray | None = None,
        lengths: np.ndarray | None = None,  # lengths[i] belongs to codes[i]
    ) -> None:
        by_class = np.argsort(codes, kind="stable")  # one sort, not a look at all rows for every class
        self._classes = np.split(by_class, np.flatnonzero(np.diff(codes[by_class])) + 1)
        if len(self._classes) < 2:
            raise ValueError("class-aware batches need at least two classes")
        self._each = max(2, min(per_class, batch_size // 2))
        self._groups = max(2, batch_size // self._each)
        self._seed, self._lengths = seed, lengths
        self._loose_share = 1.0 if lengths is None else _loose_share(lengths, self.size, seed)
        self._named = _by_code(codes, _NONE if named is None else named)
        self._total = sum(-(-len(rows) // self._each) for rows in self._classes)

    @property
    def size(self) -> int:
        """Texts in a batch, without those that stand for a class."""
        return self._groups * self._each

    def __len__(self) -> int:
        return -(-self._total // self._groups)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        random = generator(self._seed, "class-aware", number)
        batches = self._any_lengths(random) if self._lengths is None else self._similar(self._lengths, random)
        for groups, classes in batches:
            if len(set(classes.tolist())) < 2:
                which, more = self._others(int(classes[0]), groups, random)
                groups, classes = np.concatenate([groups, more]), np.append(classes, which)
            yield {"rows": np.concatenate([groups.reshape(-1), self._names(classes, random)])}

    def _any_lengths(self, random: np.random.Generator) -> list[Groups]:
        """All classes in groups as chance has it."""
        groups, place = [], []
        for rows in self._classes:
            mine = self._cut(rows, random)
            groups.append(mine)
            place.append(_evenly(len(mine), random))
        owners = np.repeat(np.arange(len(groups)), [len(mine) for mine in groups])
        return self._in_turn(np.concatenate(groups), owners, np.concatenate(place))

    def _similar(self, lengths: np.ndarray, random: np.random.Generator) -> list[Groups]:
        """A few batches as chance has it, the others of similar length; all in random order."""
        loose = self._loose(random)
        groups: list[np.ndarray] = []
        free: list[np.ndarray] = []
        owners: list[int] = []
        for which, (rows, some) in enumerate(zip(self._classes, loose.tolist(), strict=True)):
            order = random.permutation(rows)
            taken, rest = order[: some * self._each], order[some * self._each :]
            if some:
                lack = some * self._each - len(taken)
                again = random.choice(rows, lack, replace=lack > len(rows))
                free.append(np.concatenate([taken, again]).reshape(-1, self._each))
            if len(rest):
                groups.append(similar_groups(rest, taken, lengths, self._each, random))
                owners += [which] * len(groups[-1])
        batches: list[Groups] = []
        if groups:
            every, whose = np.concatenate(groups), np.array(owners)
            parts = similar_batches(lengths[every].max(axis=1), whose, self._groups, random)
            batches = [(every[part], whose[part]) for part in parts]
        if free:
            place = np.concatenate([_evenly(len(mine), random) for mine in free])
            batches += self._in_turn(np.concatenate(free), np.repeat(np.arange(len(loose)), loose), place)
        return [batches[place] for place in random.permutation(len(batches))]

    def _loose(self, random: np.random.Generator) -> np.ndarray:
        """Groups of each class that go into batches without heed of lengths; these are full."""
        batches = min(int(self._loose_share * len(self) + random.random()), self._total // self._groups)
        counts = [-(-len(rows) // self._each) for rows in self._classes]
        owners = np.repeat(np.arange(len(counts)), counts)
        return np.bincount(random.choice(owners, batches * self._groups, replace=False), minlength=len(counts))

    def _in_turn(self, groups: np.ndarray, owners: np.ndarray, place: np.ndarray) -> list[Groups]:
        """Batches of groups in the order of their places."""
        order = np.argsort(place, kind="stable")
        parts = [order[start : start + self._groups] for start in range(0, len(order), self._groups)]
        return [(groups[part], owners[part]) for part in parts]

    def _cut(self, rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """A class in groups, (groups, per_class); what lacks in the last is drawn again from the same class."""
        order = random.permutation(rows)
        lack = -len(order) % self._each
        if lack:
            again = random.choice(rows, lack, replace=lack > len(rows))
            order = np.concatenate([order, again])
        return order.reshape(-1, self._each)

    def _others(self, code: int, groups: np.ndarray, random: np.random.Generator) -> tuple[int, np.ndarray]:
        """Another class and one group of it, near the length of these groups where lengths are known."""
        which = int(random.choice([other for other in range(len(self._classes)) if other != code]))
        rows = self._classes[which]
        if self._lengths is None or len(rows) <= self._each:
            return which, random.choice(rows, (1, self._each), replace=len(rows) < self._each)
        some = random.choice(rows, min(len(rows), LOOKED_AT * self._each), replace=False)
        wanted = float(self._lengths[groups].mean())
        return which, nearest(some, self._lengths, wanted, self._each, random)[None, :]

    def _names(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """A row that stands for each of these classes, where it has any."""
        known = [self._named[which] for which in np.unique(classes).tolist() if which in self._named]
        # In any order: where rows do not divide evenly among processes, the last are left out.
        return random.permutation(np.array([random.choice(rows) for rows in known], dtype=np.int64)) if known else _NONE


def _evenly(many: int, random: np.random.Generator) -> np.ndarray:
    """Places of a class's groups in the epoch, in any order but evenly apart."""
    return (random.permutation(many) + random.random(many)) / many


def _loose_share(lengths: np.ndarray, size: int, seed: int) -> float:
    """The share of batches that take no heed of lengths, by what padding them costs."""
    order = generator(seed, "class-aware", "loose").permutation(lengths)
    longest = np.maximum.reduceat(order, np.arange(0, len(order), size)).mean()
    return float(min(LOOSE, LOOSE_TOKENS * order.mean() / max(longest, 1)))


def _by_code(codes: np.ndarray, named: np.ndarray) -> dict[int, np.ndarray]:
    """The further rows of each class that has other rows, by the place of its code among theirs."""
    places = {code: which for which, code in enumerate(np.unique(codes).tolist())}
    return {places[code]: len(codes) + np.flatnonzero(named == code) for code in set(named.tolist()) & places.keys()}
