"""One class per text: a name or number, or a path through a tree of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import zip_longest
from typing import cast

import numpy as np

from phasefit.data.labels.space import LabelSpace
from phasefit.data.table import Label
from phasefit.errors import LabelError


class SingleLabels(LabelSpace):
    """One label per text."""

    kind = "single"

    def name(self, label: Label) -> str:
        """The label as text."""
        return str(label)

    def targets(self, values: np.ndarray) -> np.ndarray:
        """The codes themselves, (n,) int64."""
        return np.asarray(values, dtype=np.int64)


ENDED = -1  # the code of levels below the end of a path
_END = object()


class TreeLabels(LabelSpace):
    """One path per text, from the root down; a class is a whole path. `depth` is the length of the longest path."""

    kind = "tree"

    def __init__(self, classes: Sequence[Label]) -> None:
        """Create the space of these paths, in the order of their codes."""
        paths = [label if isinstance(label, tuple) else (label,) for label in classes]
        if not all(paths):
            raise LabelError("a tree label has no levels; every label needs at least one")
        super().__init__(cast("list[Label]", paths))
        depths = {len(path) for path in paths} or {1}
        self.shallowest, self.depth = min(depths), max(depths)
        levels = [_codes_in_order(level) for level in zip_longest(*paths, fillvalue=_END)]
        self._levels = np.array(levels, dtype=np.int64).T

    def name(self, label: Label) -> str:
        """The levels joined with a slash."""
        return "/".join(map(str, label)) if isinstance(label, tuple | list) else str(label)

    def targets(self, values: np.ndarray) -> np.ndarray:
        """Codes per level, (n, depth) int64; -1 below the end of a path.

        Equal names on one level share a code, even with different parents, so compare prefixes: the agreement of two
        rows is the number of leading equal levels / depth. Equal paths agree fully.
        """
        return cast(np.ndarray, self._levels[np.asarray(values, dtype=np.int64)])


class NoLabels(LabelSpace):
    """The space of texts without labels: no classes, and the code -1 for every row. It is never saved."""

    kind = "none"

    def __init__(self) -> None:
        """Create an empty space."""
        super().__init__(())

    def name(self, label: Label) -> str:
        """The label as text."""
        return str(label)

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """-1 for every row."""
        return np.full(len(labels), -1, dtype=np.int64)

    def targets(self, values: np.ndarray) -> np.ndarray:
        """The codes themselves, (n,) int64."""
        return np.asarray(values, dtype=np.int64)


def _codes_in_order(names: Iterable[Hashable]) -> list[int]:
    """Codes by first appearance, which do not change when the space is extended."""
    seen: dict[Hashable, int] = {}
    return [ENDED if name is _END else seen.setdefault(name, len(seen)) for name in names]
