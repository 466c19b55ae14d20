"""Several labels per text, or none: a set of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from phasefit.data.labels.space import LabelSpace, in_order, plain
from phasefit.data.table import Label
from phasefit.errors import LabelError

SEPARATOR = "|"  # between the labels of a text where they are written in one cell
NO_LABEL = "(no label)"  # the group of texts without any


class MultiLabels(LabelSpace):
    """Any number of the classes for each text; a text's label is the set of its classes."""

    kind = "multi"

    @classmethod
    def build(cls, labels: Iterable[Label]) -> LabelSpace:
        """The classes in all sets, sorted."""
        return cls(in_order({plain(part) for label in labels for part in parts(label)}))

    @property
    def groups(self) -> list[str]:
        """The classes, and what texts without any are called."""
        return [*self.names, NO_LABEL]

    def name(self, label: Label) -> str:
        """The class as text; a set joined with a bar, in the order of its names."""
        return SEPARATOR.join(sorted(map(str, label))) if isinstance(label, frozenset) else str(label)

    def values(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """(n, classes) bool: which classes each text has."""
        found = np.zeros((len(labels), len(self)), dtype=bool)
        for row, label in enumerate(labels):
            for part in parts(label):
                code = self._codes.get(part)
                found[row, self._code_by_name(part, where, row) if code is None else code] = True
        return found

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """The rarest class of each text among these texts: rows of one code have at least that class in common."""
        found = self.values(labels, where)
        sizes = np.append(found.sum(axis=0), len(found) + 1)  # having no label at all is never rarer than one
        marked = np.hstack([found, np.ones((len(found), 1), dtype=bool)])
        return np.asarray(np.where(marked, sizes, np.iinfo(np.int64).max).argmin(axis=1), dtype=np.int64)

    def none(self, rows: int) -> np.ndarray:
        """Nothing."""
        return np.zeros((rows, len(self)), dtype=bool)

    def class_values(self, codes: np.ndarray) -> np.ndarray:
        """That class alone."""
        return np.asarray(np.eye(len(self), dtype=bool)[np.asarray(codes, dtype=np.int64)])

    def targets(self, values: np.ndarray) -> np.ndarray:
        """The sets themselves: they agree by their Jaccard index."""
        return np.asarray(values, dtype=bool)

    def knows(self, label: Label) -> bool:
        """Whether it knows every class of the set."""
        return all(super(MultiLabels, self).knows(part) for part in parts(label))

    def sets(self, chosen: np.ndarray) -> list[Label]:
        """The sets of classes in (n, classes) bool."""
        names = cast("tuple[str | int, ...]", self.classes)
        return [frozenset(names[code] for code in np.flatnonzero(row)) for row in chosen]

    def extend(self, labels: Iterable[Label]) -> LabelSpace:
        """The classes of these sets too, behind the known ones."""
        return super().extend([part for label in labels for part in parts(label)])


def parts(label: Any) -> Iterable[Any]:
    """The classes in a set; a plain label is a set of one."""
    if isinstance(label, frozenset):
        return label
    if isinstance(label, tuple | list | set):
        raise LabelError(f"labels of kind 'multi' are sets of classes, not {label!r:.60}")
    return (label,)
