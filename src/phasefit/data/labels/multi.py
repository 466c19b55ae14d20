"""Any number of labels per text: reading them from cells, and the space of their classes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

import numpy as np

from phasefit.data.checks import Place, is_missing, plain_label
from phasefit.data.coded_labels import distinct
from phasefit.data.labels.space import LabelSpace, in_order, plain
from phasefit.data.table import Label
from phasefit.errors import LabelError

SEPARATOR = "|"  # between several labels in one cell
NO_LABEL = "(no label)"  # the group of texts without labels
AT_ONCE = 65_536  # rows whose rarest class is found together
LISTS = (list, set, frozenset, np.ndarray)
SEVERAL = (*LISTS, tuple)


class MultiLabels(LabelSpace):
    """Any number of the classes for each text; a text's label is the set of its classes."""

    kind = "multi"

    @classmethod
    def build(cls, labels: Iterable[Label]) -> LabelSpace:
        """The classes in all sets, sorted."""
        return cls(in_order({plain(part) for label in distinct(labels) for part in parts(label)}))

    @property
    def groups(self) -> list[str]:
        """The classes and the group of texts without labels."""
        return [*self.names, NO_LABEL]

    def name(self, label: Label) -> str:
        """The class as text; a set as its sorted names, joined with a bar."""
        return SEPARATOR.join(sorted(map(str, label))) if isinstance(label, frozenset) else str(label)

    def values(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """(n, classes) bool: which classes each text has."""
        members = np.zeros((len(labels), len(self)), dtype=bool)
        for row, label in enumerate(labels):
            for part in parts(label):
                code = self._codes.get(part)
                members[row, self._code_by_name(part, where, row) if code is None else code] = True
        return members

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """The rarest class of each text: rows with the same code share at least that class."""
        members = self.values(labels, where)
        sizes = np.append(members.sum(axis=0), len(members) + 1)  # the group without labels is never the rarest
        codes = np.empty(len(members), dtype=np.int64)
        for start in range(0, len(members), AT_ONCE):
            some = members[start : start + AT_ONCE]
            marked = np.hstack([some, np.ones((len(some), 1), dtype=bool)])
            codes[start : start + AT_ONCE] = np.where(marked, sizes, np.iinfo(np.int64).max).argmin(axis=1)
        return codes

    def none(self, rows: int) -> np.ndarray:
        """No classes, (rows, classes) bool."""
        return np.zeros((rows, len(self)), dtype=bool)

    def class_values(self, codes: np.ndarray) -> np.ndarray:
        """Sets with only that class."""
        return np.asarray(np.eye(len(self), dtype=bool)[np.asarray(codes, dtype=np.int64)])

    def targets(self, values: np.ndarray) -> np.ndarray:
        """The sets themselves; their agreement is the Jaccard index."""
        return np.asarray(values, dtype=bool)

    def knows(self, label: Label) -> bool:
        """Whether every class of the set is known."""
        return all(super(MultiLabels, self).knows(part) for part in parts(label))

    def sets(self, chosen: np.ndarray) -> list[Label]:
        """The sets of classes marked in `chosen`, (n, classes) bool."""
        names = cast("tuple[str | int, ...]", self.classes)
        return [frozenset(names[code] for code in np.flatnonzero(row)) for row in chosen]

    def extend(self, labels: Iterable[Label]) -> LabelSpace:
        """A space with the classes of these sets added after the known ones."""
        return super().extend([part for label in labels for part in parts(label)])


def parts(label: Any) -> Iterable[Any]:
    """The classes in a set; a plain label is a set of one."""
    if isinstance(label, frozenset):
        return label
    if isinstance(label, tuple | list | set):
        raise LabelError(f"labels of kind 'multi' are sets of classes, not {label!r:.60}")
    return (label,)


def are_sets(values: Sequence[Any], different: Collection[Any]) -> bool:
    """Whether labels look like several per text: lists, lists written in cells, or joined names."""
    if any(isinstance(value, LISTS) for value in values):
        return True
    names = [value for value in different if isinstance(value, str)]
    if not names or len(names) < len(different):
        return False
    return all(written_list(name) is not None for name in names) or _are_joined(names)


def read_sets(values: Sequence[Any], place: Place, separator: str) -> list[Label]:
    """The label sets of all rows; a cell is split at the separator, and an empty cell means no labels."""
    made: dict[Any, Label] = {}  # equal labels share one object
    labels: list[Label] = []
    for row, value in enumerate(values):
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) and value not in made and (spelled := written_list(value)) is not None:
            value = spelled
        if isinstance(value, SEVERAL):
            members = list(value)
        elif is_missing(value):
            members = []  # a text without labels
        elif isinstance(value, str):
            if value not in made:
                names = filter(None, (part.strip() for part in value.split(separator)))
                made[value] = frozenset(plain_label(name, place, row) for name in names)
            labels.append(made[value])
            continue
        else:
            members = [value]
        if any(isinstance(part, SEVERAL) or is_missing(part) for part in members):
            raise LabelError(f"{place.row(row)}: one of the labels is missing or a list; use names or numbers")
        label = frozenset(plain_label(part, place, row) for part in members)
        if len(label) < len(members) and set(members) <= {0, 1}:
            raise LabelError(
                f"{place.row(row)}: the labels are zeros and ones; pass a label matrix as an array, np.array(y)"
            )
        labels.append(label)
    if len(labels) > 1 and set(labels) == {frozenset({0, 1})}:
        raise LabelError(f"{place.name}: all labels are 0 and 1; pass a label matrix as an array, np.array(y)")
    return labels


def written_list(text: str) -> list[Any] | None:
    """The list written in a cell, as JSON or as Python prints it; None for any other text."""
    if not (text.strip().startswith("[") and text.strip().endswith("]")):
        return None
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _are_joined(names: Sequence[str]) -> bool:
    """Names with bars are several labels if their parts recur: no more distinct parts than names."""
    if not any(SEPARATOR in name for name in names):
        return False
    parts = [part.strip() for name in names for part in name.split(SEPARATOR)]
    return all(parts) and len(set(parts)) <= len(names)
