"""Batches in which every text has company of its class, and every class company of others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phasefit.data.batches.contract import Draw
from phasefit.data.seeds import generator

_NONE = np.empty(0, dtype=np.int64)


class ClassBatches:
    """Each batch is groups of `per_class` texts of one class; an epoch sees every row at least once.

    A class too small for its last group is drawn from again. A class's groups are spread evenly over the epoch, so a
    batch looks like the table: with more classes than fit, each batch holds a changing choice of them, the larger ones
    more often. A batch that would be left with one class gets a group of another one on top.

    `named` are codes of further rows, numbered behind the others: texts that stand for their class, of which every
    batch gets one for each of its classes, on top of its size.
    """

    def __init__(
        self, codes: np.ndarray, *, batch_size: int, per_class: int, seed: int, named: np.ndarray | None = None
    ) -> None:
        by_class = np.argsort(codes, kind="stable")  # one sort, not a look at all rows for every class
        self._classes = np.split(by_class, np.flatnonzero(np.diff(codes[by_class])) + 1)
        if len(self._classes) < 2:
            raise ValueError("class-aware batches need at least two classes")
        self._each = max(2, min(per_class, batch_size // 2))
        self._groups = max(2, batch_size // self._each)
        self._seed = seed
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
        groups, owner, place = [], [], []
        for which, rows in enumerate(self._classes):
            mine = self._cut(rows, random)
            groups.append(mine)
            owner.append(np.full(len(mine), which))
            place.append((random.permutation(len(mine)) + random.random(len(mine))) / len(mine))
        whose = np.concatenate(owner)
        order = np.argsort(np.concatenate(place), kind="stable")
        every = np.concatenate(groups)
        for start in range(0, len(order), self._groups):
            part = order[start : start + self._groups]
            chosen, classes = every[part], whose[part]
            if len(set(classes.tolist())) < 2:
                which, more = self._others(int(classes[0]), random)
                chosen, classes = np.concatenate([chosen, more]), np.append(classes, which)
            yield {"rows": np.concatenate([chosen.reshape(-1), self._names(classes, random)])}

    def _cut(self, rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """A class in groups, (groups, per_class); what lacks in the last is drawn again from the same class."""
        order = random.permutation(rows)
        lack = -len(order) % self._each
        if lack:
            again = random.choice(rows, lack, replace=lack > len(rows))
            order = np.concatenate([order, again])
        return order.reshape(-1, self._each)

    def _others(self, code: int, random: np.random.Generator) -> tuple[int, np.ndarray]:
        """Another class and one group of it."""
        which = int(random.choice([other for other in range(len(self._classes)) if other != code]))
        rows = self._classes[which]
        return which, random.choice(rows, (1, self._each), replace=len(rows) < self._each)

    def _names(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """A row that stands for each of these classes, where it has any."""
        known = [self._named[which] for which in np.unique(classes).tolist() if which in self._named]
        # In any order: where rows do not divide evenly among processes, the last are left out.
        return random.permutation(np.array([random.choice(rows) for rows in known], dtype=np.int64)) if known else _NONE


def _by_code(codes: np.ndarray, named: np.ndarray) -> dict[int, np.ndarray]:
    """The further rows of each class that has other rows, by the place of its code among theirs."""
    places = {code: which for which, code in enumerate(np.unique(codes).tolist())}
    return {places[code]: len(codes) + np.flatnonzero(named == code) for code in set(named.tolist()) & places.keys()}
