"""Validate texts and labels: an error states the row, how many rows are affected and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.table import Label
from phasefit.errors import DataError, LabelError

if TYPE_CHECKING:
    from phasefit.data.io.frames import FileContent

CHUNK = 4096
SURROGATE = "a lone surrogate (an incomplete character)"


@dataclass(frozen=True)
class Place:
    """The source of rows, for messages: `reviews.csv, row 3 (line 4)`."""

    name: str
    file: FileContent | None = None
    column: str = ""  # named in messages if several columns hold texts
    rows: np.ndarray | None = None  # the rows of the source that are left, if some are dropped
    may_drop: bool = False  # whether the caller has the option --empty
    copies: np.ndarray | None = None  # how many rows of the source each row stands for; None: one

    def row(self, index: int) -> str:
        """The location of a row (0-based), with its line if the file has lines."""
        number = index if self.rows is None else int(self.rows[index])
        location = self.file.location(number) if self.file else ""
        column = f", column '{self.column}'" if self.column else ""
        return f"{self.name}, row {number + 1}" + (f" ({location})" if location else "") + column

    def advice(self, rows: Sequence[int]) -> str:
        """The end of an error about the first of these rows, which have empty cells."""
        drop = ", or drop such rows with --empty drop" if self.may_drop else ""
        count = len(rows) if self.copies is None else int(self.copies[rows].sum())
        if count == 1:
            return f"; fill in or remove the row{drop}"
        return f" (the first of {count} such rows); fill in or remove these rows{drop}"


def check_texts(values: Sequence[Any], place: Place) -> list[str]:
    """The texts as a list of str; DataError for empty, missing and non-text values."""
    if not len(values):
        raise DataError(f"{place.name} has no rows")
    bad = [row for row, value in enumerate(values) if type(value) is not str or not value.strip()]
    texts = list(values)
    if bad:
        texts = _converted(texts, bad, place)
    for start in range(0, len(texts), CHUNK):
        try:
            "".join(texts[start : start + CHUNK]).encode()
        except UnicodeEncodeError:
            row = next(row for row in range(start, len(texts)) if _has_surrogate(texts[row]))
            raise DataError(f"{place.row(row)}: the text contains {SURROGATE}; fix or remove it") from None
    return texts


def check_labels(values: Sequence[Any], place: Place, *, paths: bool = False) -> list[Label]:
    """One class per row; LabelError for missing values, decimals and lists (with `paths`, lists are paths)."""
    labels: list[Any] = [None] * len(values)
    missing: list[int] = []
    plain: dict[tuple[type, Any], Label] = {}  # equal labels share one object, which saves memory
    for row, value in enumerate(values):
        kind = type(value)
        if kind is tuple or kind is list or kind is np.ndarray:
            labels[row] = _path(value, place, row, paths)
            continue
        try:
            labels[row] = plain[kind, value]
        except KeyError:
            if is_missing(value):
                missing.append(row)
            else:
                labels[row] = plain[kind, value] = plain_label(value, place, row)
        except TypeError:
            raise LabelError(f"{place.row(row)}: a label must be a name or a number, not {kind.__name__}") from None
    if missing:
        raise LabelError(f"{place.row(missing[0])}: the label is missing{place.advice(missing)}")
    if any(isinstance(label, tuple) for label in labels):  # a bare name among paths is a path of one level
        return [label if isinstance(label, tuple) else (label,) for label in labels]
    return labels


def split_paths(labels: Sequence[Label], separator: str, place: Place) -> list[Label]:
    """The paths of labels such as a/b, split at the separator; a label without it is a path of one level."""
    made: dict[Label, Label] = {}
    paths: list[Label] = []
    for row, label in enumerate(labels):
        if label not in made:
            parts = tuple(part.strip() for part in str(label).split(separator))
            if not all(parts):
                raise LabelError(
                    f"{place.row(row)}: label '{label}' has an empty level at a '{separator}'; fix the label or change "
                    "--tree"
                )
            made[label] = parts
        paths.append(made[label])
    return paths


def plain_label(value: Any, place: Place, row: int) -> str | int | bool:
    """The label as str, int or bool; whole floats are ints."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        if _has_surrogate(value):
            raise LabelError(f"{place.row(row)}: the label contains {SURROGATE}; fix or remove it")
        return str(value)
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if value.is_integer():
            return int(value)
        raise LabelError(f"{place.row(row)}: label {value:g} is a decimal, not a class; for scores use --kind score")
    raise LabelError(f"{place.row(row)}: a label must be a name or a number, not {type(value).__name__}")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, NA or blank."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return isinstance(value, str) and not value.strip()


def _converted(texts: list[Any], bad: list[int], place: Place) -> list[str]:
    """The texts with subclasses of str converted to str; DataError for any other bad value."""
    empty = [row for row in bad if is_missing(texts[row])]
    if empty:
        raise DataError(f"{place.row(empty[0])}: the text is empty or missing{place.advice(empty)}")
    for row in bad:
        if not isinstance(texts[row], str):
            value = f"{type(texts[row]).__name__} {texts[row]!r:.40}"
            raise DataError(f"{place.row(row)}: expected a text, found {value}; is this the right column?")
        texts[row] = str(texts[row])
    return texts


def _path(value: Any, place: Place, row: int, paths: bool) -> tuple[str | int, ...]:
    if not paths and not isinstance(value, tuple):
        raise LabelError(f"{place.row(row)}: the label is a list; for several labels per text use --kind multi")
    levels = list(value)
    while levels and is_missing(levels[-1]):  # level columns below the end of a shorter path
        levels.pop()
    if not levels:
        raise LabelError(f"{place.row(row)}: the label is an empty path; fill in or remove the row")
    gap = next((level for level, part in enumerate(levels, start=1) if is_missing(part)), None)
    if gap is not None:
        raise LabelError(
            f"{place.row(row)}: level {gap} of the label is missing, but level {len(levels)} is '{levels[-1]}'; fill "
            "it in or remove the row"
        )
    return tuple(plain_label(part, place, row) for part in levels)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
