"""LabelSpace: what every kind of label promises; one class per kind stands beside this file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Self, cast

import numpy as np

from phasefit.data.table import Label
from phasefit.errors import LabelError


class LabelSpace(ABC):
    """The classes of one task, in a fixed order: a class's code is its place in it.

    Each label is seen in two ways. `encode` gives one code per row, for whatever draws or groups rows: its class, or
    what comes nearest to one (of several labels the rarest, of scores a range). `values` gives all there is to learn
    and to score.
    """

    kind: ClassVar[str]
    depth: int = 1

    def __init__(self, classes: Sequence[Label]) -> None:
        """Take the classes as they stand, in the order of their codes."""
        self.classes: tuple[Label, ...] = tuple(classes)
        self.names: list[str] = [self.name(label) for label in self.classes]
        # 1 and "1", or ("a/b", "c") and ("a", "b/c"), would be one column of the predictions.
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise LabelError(f"two different labels are both written '{twice}'; give them one type and one spelling")
        self._codes: dict[Hashable, int] = {label: code for code, label in enumerate(self.classes)}
        if len(self._codes) < len(self.classes):  # Python takes True for 1
            raise LabelError("labels mix true and false with the numbers 1 and 0; give them one type")
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
        return cls(in_order({plain(label) for label in labels}))

    @abstractmethod
    def name(self, label: Label) -> str:
        """How a label is written in tables, columns and messages."""

    @abstractmethod
    def targets(self, values: np.ndarray) -> np.ndarray:
        """What contrastive objectives see of these `values`; see objectives/agreement.py."""

    @property
    def outputs(self) -> int:
        """How many numbers a head has to give."""
        return len(self)

    @property
    def groups(self) -> list[str]:
        """The names of what `encode` gives."""
        return self.names

    def values(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """What losses and metrics see, one along the first axis for each row: here the codes."""
        return self.encode(labels, where)

    def none(self, rows: int) -> np.ndarray:
        """What stands for the `values` of rows without labels."""
        return np.full(rows, -1, dtype=np.int64)

    def class_values(self, codes: np.ndarray) -> np.ndarray:
        """The `values` of texts that stand for one class each, such as its name."""
        return np.asarray(codes, dtype=np.int64)

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """Codes (n,) int64; a label that is not known raises with its row and the nearest known one."""
        known = self._codes
        try:
            codes = [known.get(label, -1) for label in labels]
        except TypeError:  # lists where tuples are meant
            codes = [-1] * len(labels)
        for row, code in enumerate(codes):
            if code < 0:
                codes[row] = self._code_by_name(labels[row], where, row)
        return np.asarray(codes, dtype=np.int64)

    def _code_by_name(self, label: Label, where: str, row: int) -> int:
        # "1" out of a CSV and 1 out of a list are the same class.
        name = self.name(label)
        code = self._codes_by_name.get(name)
        if code is None:
            place = f"{where}, row {row + 1}"
            raise LabelError(f"{place}: label '{name}' is not among the {len(self)} known: {self._near(name)}")
        return code

    def _near(self, name: str) -> str:
        near = get_close_matches(name, self.names, n=1)
        if near:
            return f"did you mean '{near[0]}'?"
        shown = ", ".join(self.names[:10])
        return shown if len(self) <= 10 else f"{shown}, ..."

    def knows(self, label: Label) -> bool:
        """Whether `encode` would take this label."""
        return label in self._codes or self.name(label) in self._codes_by_name

    def decode(self, codes: np.ndarray | Sequence[int]) -> list[Label]:
        """The raw labels of these codes."""
        return [self.classes[code] for code in np.asarray(codes, dtype=np.int64).tolist()]

    def extend(self, labels: Iterable[Label]) -> LabelSpace:
        """A space with these labels too: known classes keep their codes, new ones follow, sorted."""
        fresh = {self.name(label): label for label in map(plain, labels) if not self.knows(label)}
        return type(self)(self.classes + tuple(in_order(fresh.values()))) if fresh else self

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `labels.from_json` gives the space back."""
        return {"kind": self.kind, "classes": [list(c) if isinstance(c, tuple) else c for c in self.classes]}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        """The space of this kind that `to_json` wrote."""
        classes = data.get("classes")
        if not isinstance(classes, list) or not classes:
            raise LabelError("a saved label space has no classes; the file is damaged")
        if not all(_is_class(label) for label in classes):
            raise LabelError("a saved label space has a class that is neither a name nor a number; the file is damaged")
        return cls(cast("list[Label]", [tuple(c) if isinstance(c, list) else c for c in classes]))

    @staticmethod
    def from_json(data: dict[str, Any]) -> LabelSpace:
        """The space that `to_json` wrote, of whichever kind."""
        from phasefit.data.labels.kinds import LABEL_KINDS

        return LABEL_KINDS[str(data.get("kind"))].space.of_json(data)


def plain(label: Any) -> Label:
    """NumPy's scalars as Python's own, which JSON knows; lists as paths."""
    if isinstance(label, tuple | list):
        return cast(Label, tuple(map(plain, label)))
    return cast(Label, label.item() if isinstance(label, np.generic) else label)


def in_order(labels: Iterable[Any]) -> list[Any]:
    """As scikit-learn sorts: numbers by value, names by character; a mix by how it is written."""
    items = list(labels)
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: tuple(map(str, item)) if isinstance(item, tuple) else (str(item),))


def _is_class(label: Any) -> bool:
    parts = label if isinstance(label, list) else [label]
    return bool(parts) and all(isinstance(part, str | int) for part in parts)
