"""Labels of a large table: each label once, and a number of four bytes per row."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

if TYPE_CHECKING:
    from phasefit.data.table import Label

AT_ONCE = 65_536
_MISSING = object()


class CodedLabels(Sequence["Label"]):
    """The labels of all rows, used like a list: the label of row i is `values[codes[i]]`."""

    def __init__(self, values: Sequence[Label], codes: np.ndarray) -> None:
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> Label: ...

    @overload
    def __getitem__(self, row: slice) -> list[Label]: ...

    def __getitem__(self, row: int | slice) -> Label | list[Label]:
        if isinstance(row, slice):
            return [self.values[code] for code in self.codes[row].tolist()]
        return self.values[int(self.codes[row])]

    def __iter__(self) -> Iterator[Label]:
        for start in range(0, len(self), AT_ONCE):
            yield from self[start : start + AT_ONCE]

    def take(self, rows: np.ndarray) -> CodedLabels:
        """The labels of these rows, in this order."""
        return CodedLabels(self.values, self.codes[rows])

    def numbers(self, numbers_of: Callable[[list[Label]], np.ndarray]) -> np.ndarray:
        """One number per row, from a function that gives those of some labels; it is called with each label once."""
        used = self._used()
        of_value = np.zeros(len(self.values), dtype=np.int64)
        of_value[used] = numbers_of([self.values[code] for code in used.tolist()])
        return np.asarray(of_value[self.codes])

    def distinct(self) -> list[Label]:
        """Each label that a row has, once."""
        return [self.values[code] for code in self._used().tolist()]

    def _used(self) -> np.ndarray:
        return np.flatnonzero(np.bincount(self.codes, minlength=len(self.values)))


def distinct(labels: Iterable[Label]) -> Iterable[Label]:
    """The labels without repetitions, if that takes no time; otherwise the labels."""
    return labels.distinct() if isinstance(labels, CodedLabels) else labels


class LabelCoder:
    """Codes for the raw labels of a file, in the order in which they appear; all missing ones share a code."""

    def __init__(self, is_missing: Callable[[Any], bool]) -> None:
        self._is_missing = is_missing
        self._known: dict[Any, int] = {}
        self._codes = array("i")
        self._rows = 0  # of the source
        self.values: list[Any] = []  # the raw label of each code
        self.first = array("q")  # the first row of each code
        self.missing: int | None = None  # the code of missing labels

    def append(self, labels: Sequence[Any], rows: np.ndarray) -> None:
        """Append labels; `rows` are the numbers of their rows in the source."""
        known, add = self._known, self._codes.append
        for place, label in enumerate(labels):
            try:
                add(known[type(label), label])
            except (KeyError, TypeError):  # new, or a list
                add(self._code(label, int(rows[place])))

    def finish(self) -> np.ndarray:
        """The code of each row."""
        return np.frombuffer(self._codes, dtype=np.int32) if len(self._codes) else np.empty(0, np.int32)

    def _code(self, label: Any, row: int) -> int:
        key, missing = self._key(label), False
        if self._is_missing(label) if not isinstance(label, tuple) else all(map(self._is_missing, label)):
            key, missing = _MISSING, True
        code = self._known.get(key)
        if code is None:
            code = self._known[key] = len(self.values)
            self.values.append(label)
            self.first.append(row)
            if missing:
                self.missing = code
        return code

    def _key(self, label: Any) -> Any:
        """A hashable key; those of 1, True and 1.0 differ, also inside lists and tuples."""
        parts = label.tolist() if isinstance(label, np.ndarray) else label
        if not isinstance(parts, list | tuple):
            try:
                hash(parts)
            except TypeError:
                return repr(parts)
            return type(parts), parts
        key = (type(label), *((None if self._is_missing(part) else (type(part), part)) for part in parts))
        try:
            hash(key)
        except TypeError:  # lists of lists
            return repr(parts)
        return key
