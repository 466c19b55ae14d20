"""LabelSpace: raw labels to codes and back. One class per kind, listed in LABEL_KINDS; `label_space` picks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, cast

import numpy as np

from phasefit.data.table import Label
from phasefit.errors import LabelError

NOT_HANDLED = {
    "multi": "several labels per text (kind 'multi') are not handled yet; give one label per text",
    "score": "scores (kind 'score', regression) are not handled yet; give classes instead of numbers on a scale",
}


class LabelSpace(ABC):
    """The classes of one task, in a fixed order: a class's code is its place in it."""

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
        return cls(_sorted({_plain(label) for label in labels}))

    @abstractmethod
    def name(self, label: Label) -> str:
        """How a label is written in tables, columns and messages."""

    @abstractmethod
    def targets(self, codes: np.ndarray) -> np.ndarray:
        """What objectives see of these codes: (n,) for single labels, (n, depth) for trees."""

    def encode(self, labels: Sequence[Label], where: str = "labels") -> np.ndarray:
        """Codes (n,) int64; a label that is not known raises with its row and the nearest known one."""
        known = self._codes
        try:
            found = [known.get(label, -1) for label in labels]
        except TypeError:  # lists where tuples are meant
            found = [-1] * len(labels)
        for row, code in enumerate(found):
            if code < 0:
                found[row] = self._code_by_name(labels[row], where, row)
        return np.asarray(found, dtype=np.int64)

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
        fresh = {self.name(label): label for label in map(_plain, labels) if not self.knows(label)}
        return type(self)(self.classes + tuple(_sorted(fresh.values()))) if fresh else self

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `from_json` gives the space back."""
        return {"kind": self.kind, "classes": [list(c) if isinstance(c, tuple) else c for c in self.classes]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> LabelSpace:
        """The space that `to_json` wrote, of whichever kind."""
        kind = _known_kind(str(data.get("kind")))
        classes = data.get("classes")
        if not isinstance(classes, list) or not classes:
            raise LabelError("a saved label space has no classes; the file is damaged")
        if not all(_is_class(label) for label in classes):
            raise LabelError("a saved label space has a class that is neither a name nor a number; the file is damaged")
        return LABEL_KINDS[kind](cast("list[Label]", [tuple(c) if isinstance(c, list) else c for c in classes]))


class SingleLabels(LabelSpace):
    """One label per text."""

    kind = "single"

    def name(self, label: Label) -> str:
        """The label as text."""
        return str(label)

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """The codes themselves, (n,) int64."""
        return np.asarray(codes, dtype=np.int64)


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

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Codes per level, (n, depth) int64.

        Equal names on one level share a code whatever their parent, so compare prefixes: the agreement of two rows
        is the number of leading equal levels / depth.
        """
        return cast(np.ndarray, self._levels[np.asarray(codes, dtype=np.int64)])


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

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """The codes themselves, (n,) int64."""
        return np.asarray(codes, dtype=np.int64)


LABEL_KINDS: dict[str, type[LabelSpace]] = {"single": SingleLabels, "tree": TreeLabels}


def label_space(labels: Sequence[Label], kind: str | None = None, where: str = "") -> LabelSpace:
    """The label space of these labels; without `kind`, tuples make a tree and all else is single.

    `where` names the table in messages.
    """
    place = f"{where}: " if where else ""
    if kind is None:
        kind = "tree" if any(isinstance(label, tuple) for label in labels) else "single"
    kind = _known_kind(kind)
    kinds = {type(part) for label in labels if type(label) is not str for part in _parts(_plain(label))}
    if {bool, int} <= kinds:  # True equals 1, so one of them would be lost
        raise LabelError(f"{place}labels mix true/false with numbers; give them one type")
    try:
        space = LABEL_KINDS[kind].build(labels)
    except LabelError as error:
        raise LabelError(f"{place}{error}") from None
    if len(space) < 2:
        found = f"only one class, '{space.names[0]}'" if len(space) else "no labels"
        raise LabelError(f"{place}there is {found}; a classifier needs at least two classes")
    return space


def _known_kind(kind: str) -> str:
    if kind in NOT_HANDLED:
        raise LabelError(NOT_HANDLED[kind])
    if kind not in LABEL_KINDS:
        raise LabelError(f"unknown kind of labels '{kind}'; known: {', '.join(LABEL_KINDS)}")
    return kind


def _is_class(label: Any) -> bool:
    parts = label if isinstance(label, list) else [label]
    return bool(parts) and all(isinstance(part, str | int) for part in parts)


def _parts(label: Label) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _plain(label: Any) -> Label:
    """NumPy's scalars as Python's own, which JSON knows; lists as paths."""
    if isinstance(label, tuple | list):
        return cast(Label, tuple(map(_plain, label)))
    return cast(Label, label.item() if isinstance(label, np.generic) else label)


def _sorted(labels: Iterable[Label]) -> list[Label]:
    """As scikit-learn sorts: numbers by value, names by character; a mix by how it is written."""
    items = list(labels)
    try:
        return cast("list[Label]", sorted(items))
    except TypeError:
        return sorted(items, key=lambda item: tuple(map(str, item)) if isinstance(item, tuple) else (str(item),))


def _codes_in_order(names: Iterable[Hashable]) -> list[int]:
    """Codes by first appearance: they stay the same when the space is extended."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(name, len(seen)) for name in names]
