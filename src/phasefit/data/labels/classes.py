"""One class per text: a name or number, or a path through a tree of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
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


class TreeLabels(LabelSpace):
    """One path per text, from the root to the leaf, all of one depth; a class is a whole path."""

    kind = "tree"

    def __init__(self, classes: Sequence[Label]) -> None:
        """Take the paths as they stand, in the order of their codes."""
        paths = [label if isinstance(label, tuple) else (label,) for label in classes]
        depths = sorted({len(path) for path in paths})
        if len(depths) > 1 or depths == [0]:
            raise LabelError(f"tree labels must all have the same depth; found depths {', '.join(map(str, depths))}")
        super().__init__(cast("list[Label]", paths))
        self.depth = depths[0] if depths else 1
        self._levels = np.array([_codes_in_order(level) for level in zip(*paths, strict=True)], dtype=np.int64).T

    def name(self, label: Label) -> str:
        """The levels joined with a slash."""
        return "/".join(map(str, label)) if isinstance(label, tuple | list) else str(label)

    def targets(self, values: np.ndarray) -> np.ndarray:
        """Codes per level, (n, depth) int64.

        Equal names on one level share a code whatever their parent, so compare prefixes: the agreement of two rows
        is the number of leading equal levels / depth.
        """
        return cast(np.ndarray, self._levels[np.asarray(values, dtype=np.int64)])


class NoLabels(LabelSpace):
    """The space of texts without labels: no classes, and every row's code is -1. It is never saved."""

    kind = "none"

    def __init__(self) -> None:
        """Nothing to take."""
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
    """Codes by first appearance: they stay the same when the space is extended."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(name, len(seen)) for name in names]
