"""LabelSpace: the interface of all label kinds; the other modules of this package implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, ClassVar, Self, cast

import numpy as np

from phasefit.data.coded_labels import CodedLabels, distinct
from phasefit.data.table import Label
from phasefit.errors import LabelError


class LabelSpace(ABC):
    """The classes of one task in a fixed order; the code of a class is its position.

    A label has two representations. `encode` gives one code per row, for sampling and grouping rows: the class, the
    rarest of several labels, or the range of a score. `values` gives the full target for losses and metrics.
    """

    kind: ClassVar[str]
    depth: int = 1

    def __init__(self, classes: Sequence[Label]) -> None:
        """Create the space of these classes, in the order of their codes."""
        self.classes: tuple[Label, ...] = tuple(classes)
        self.names: list[str] = [self.name(label) for label in self.classes]
        # 1 and "1", or ("a/b", "c") and ("a", "b/c"), would share a column of the predictions.
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise LabelError(f"two different labels are both written '{twice}'; use one type and one spelling")
        self._codes: dict[Hashable, int] = {label: code for code, label in enumerate(self.classes)}
        if len(self._codes) < len(self.classes):  # in Python, True == 1
            raise LabelError("labels mix true and false with the numbers 1 and 0; use one type")
        self._codes_by_name = {name: code for code, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSpace) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.kind, tuple(self.names)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} classes)"

    @classmethod
    def build(cls, labels: Iterable[Label]) -> LabelSpace:
        """The space of all labels that occur, sorted."""
        return cls(in_order({plain(label) for label in distinct(labels)}))

    @abstractmethod
    def name(self, label: Label) -> str:
        """The label as text, for tables, columns and messages."""

    @abstractmethod
    def targets(self, values: np.ndarray) -> np.ndarray:
        """The targets of contrastive objectives for these `values`; see objectives/agreement.py."""

    @property
    def outputs(self) -> int:
        """The number of outputs of a head."""
        return len(self)

    @property
    def groups(self) -> list[str]:
        """The names of the codes that `encode` gives."""
        return self.names

    def values(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """The targets of losses and metrics, one per row along the first axis: here the codes."""
        return self.encode(labels, where)

    def none(self, rows: int) -> np.ndarray:
        """Placeholder `values` for rows without labels."""
        return np.full(rows, -1, dtype=np.int64)

    def class_values(self, codes: np.ndarray) -> np.ndarray:
        """The `values` of texts that represent one class each, such as class names."""
        return np.asarray(codes, dtype=np.int64)

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """Codes (n,) int64; an unknown label raises LabelError with its row and the closest known label."""
        if isinstance(labels, CodedLabels):
            with suppress(LabelError):  # reported below, with the row
                return labels.numbers(self.encode)
        known = self._codes
        try:
            codes = [known.get(label, -1) for label in labels]
        except TypeError:  # lists instead of tuples
            codes = [-1] * len(labels)
        for row, code in enumerate(codes):
            if code < 0:
                codes[row] = self._code_by_name(labels[row], where, row)
        return np.asarray(codes, dtype=np.int64)

    def _code_by_name(self, label: Label, where: str, row: int) -> int:
        # "1" from a CSV and 1 from a list are the same class.
        name = self.name(label)
        code = self._codes_by_name.get(name)
        if code is None:
            place = f"{where}, row {row + 1}"
            raise LabelError(f"{place}: label '{name}' is not one of the {len(self)} known labels; {self._near(name)}")
        return code

    def _near(self, name: str) -> str:
        near = get_close_matches(name, self.names, n=1)
        if near:
            return f"did you mean '{near[0]}'?"
        shown = ", ".join(self.names[:10])
        return f"known: {shown}" if len(self) <= 10 else f"known: {shown}, ..."

    def knows(self, label: Label) -> bool:
        """Whether `encode` accepts this label."""
        return label in self._codes or self.name(label) in self._codes_by_name

    def decode(self, codes: np.ndarray | Sequence[int]) -> list[Label]:
        """The raw labels of these codes."""
        return [self.classes[code] for code in np.asarray(codes, dtype=np.int64).tolist()]

    def extend(self, labels: Iterable[Label]) -> LabelSpace:
        """A space with these labels added: known classes keep their codes, new ones follow, sorted."""
        added = {self.name(label): label for label in map(plain, distinct(labels)) if not self.knows(label)}
        return type(self)(self.classes + tuple(in_order(added.values()))) if added else self

    def to_json(self) -> dict[str, Any]:
        """The space as plain JSON, for `from_json`."""
        return {"kind": self.kind, "classes": [list(c) if isinstance(c, tuple) else c for c in self.classes]}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        """The space of this kind that `to_json` wrote."""
        classes = data.get("classes")
        if not isinstance(classes, list) or not classes:
            raise LabelError("the saved label space has no classes; the file is damaged")
        if not all(_is_class(label) for label in classes):
            raise LabelError("the saved label space has a class that is not a name or number; the file is damaged")
        return cls(cast("list[Label]", [tuple(c) if isinstance(c, list) else c for c in classes]))

    @staticmethod
    def from_json(data: dict[str, Any]) -> LabelSpace:
        """The space of any kind that `to_json` wrote."""
        from phasefit.data.labels.kinds import LABEL_KINDS

        return LABEL_KINDS[str(data.get("kind"))].space.of_json(data)


def plain(label: Any) -> Label:
    """NumPy scalars as Python objects, for JSON; lists as paths."""
    if isinstance(label, tuple | list):
        return cast(Label, tuple(map(plain, label)))
    return cast(Label, label.item() if isinstance(label, np.generic) else label)


def in_order(labels: Iterable[Any]) -> list[Any]:
    """Labels in scikit-learn's order: numbers by value, names by character; mixed types by their text."""
    items = list(labels)
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: tuple(map(str, item)) if isinstance(item, tuple) else (str(item),))


def _is_class(label: Any) -> bool:
    parts = label if isinstance(label, list) else [label]
    return bool(parts) and all(isinstance(part, str | int) for part in parts)
