"""Which kind the labels of a table are, and the labels as that kind has them: names, paths, sets or scores."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.data.checks import Place, check_labels, is_missing, plain_label, split_paths
from phasefit.data.labels import known_kind
from phasefit.data.labels.multi import SEPARATOR
from phasefit.data.table import Label
from phasefit.errors import LabelError, did_you_mean

FEW_NUMBERS = 10  # so many different decimal numbers may still be names of classes, such as versions
LISTS = (list, set, frozenset, np.ndarray)
SEVERAL = (*LISTS, tuple)


@dataclass(frozen=True)
class LabelReading:
    """What the user, or a card, says about the labels; all of it may be left to be found out."""

    kind: str | None = None  # single, multi, tree or score
    tree: str | None = None  # what separates the levels inside one label, e.g. "/"
    separator: str | None = None  # what separates several labels in one cell
    levels: tuple[str, ...] = ()  # the names of an ordered scale, lowest first

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.kind is not None:
            known_kind(self.kind)
        wants = {"tree": self.tree, "multi": self.separator, "score": self.levels}
        options = {"tree": "--tree", "multi": "--separator", "score": "--levels"}
        said = [kind for kind, value in wants.items() if value]
        for kind in said:
            if self.kind not in (None, kind):
                raise LabelError(f"{options[kind]} is about labels of kind '{kind}', and --kind says '{self.kind}'")
        if len(said) > 1:
            raise LabelError(f"{options[said[0]]} and {options[said[1]]} are about labels of different kinds")
        if len(self.levels) == 1 or len(set(self.levels)) < len(self.levels):
            raise LabelError("--levels names at least two different levels, lowest first, e.g. --levels bad,fair,good")

    @property
    def settled(self) -> str | None:
        """The kind where it follows from what was said."""
        return self.kind or ("tree" if self.tree else "multi" if self.separator else "score" if self.levels else None)


def read_labels(values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
    """The labels of a table's rows, of the kind that was said or that they look like."""
    kind = how.settled or looks_like(values)
    if kind == "multi":
        return _sets(values, place, how.separator or SEPARATOR)
    if kind == "score":
        return [_score(value, place, row, how.levels) for row, value in enumerate(values)]
    labels = check_labels(values, place, paths=kind == "tree")
    if kind == "tree" and not isinstance(labels[0], tuple):
        labels = split_paths(labels, how.tree or "/", place)
    if kind == "single" and isinstance(labels[0], tuple):
        raise LabelError(f"{place.name}: labels of several levels are of kind 'tree', not 'single'; give one --label")
    return labels


def looks_like(values: Sequence[Any]) -> str:
    """The kind of labels that nobody named: lists are several labels, tuples paths, decimal numbers scores."""
    if any(isinstance(value, LISTS) for value in values):
        return "multi"
    if any(isinstance(value, tuple) for value in values):
        return "tree"
    try:
        different = {value for value in values if not is_missing(value)}
    except TypeError:  # dicts and the like, which are no labels of any kind: `check_labels` says so
        return "single"
    if any(isinstance(value, float | np.floating) and not float(value).is_integer() for value in different):
        return "score"
    names = [value for value in different if isinstance(value, str)]
    if len(names) < len(different):
        return "single"
    if names and all(_written_list(name) is not None for name in names):
        return "multi"
    return "score" if _are_scores(names) else "multi" if _are_joined(names) else "single"


def _written_list(text: str) -> list[Any] | None:
    """The list that a cell spells out, as JSON or as Python prints it; None for any other text."""
    if not (text.strip().startswith("[") and text.strip().endswith("]")):
        return None
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _are_scores(names: Sequence[str]) -> bool:
    """A CSV has no numbers, so scores show themselves by their spelling: decimals, and many different ones."""
    if len(names) <= FEW_NUMBERS:
        return False
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return all(map(math.isfinite, numbers)) and not all(number.is_integer() for number in numbers)


def _are_joined(names: Sequence[str]) -> bool:
    """Names with bars in them are several labels where their parts come back: no more of them than names."""
    if not any(SEPARATOR in name for name in names):
        return False
    parts = [part.strip() for name in names for part in name.split(SEPARATOR)]
    return all(parts) and len(set(parts)) <= len(names)


def _sets(values: Sequence[Any], place: Place, separator: str) -> list[Label]:
    made: dict[Any, Label] = {}  # equal labels become one object
    labels: list[Label] = []
    for row, value in enumerate(values):
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) and value not in made and (spelled := _written_list(value)) is not None:
            value = spelled
        if isinstance(value, SEVERAL):
            parts = list(value)
        elif is_missing(value):
            parts = []  # a text that has none of the labels
        elif isinstance(value, str):
            if value not in made:
                names = filter(None, (part.strip() for part in value.split(separator)))
                made[value] = frozenset(plain_label(name, place, row) for name in names)
            labels.append(made[value])
            continue
        else:
            parts = [value]
        if any(isinstance(part, SEVERAL) or is_missing(part) for part in parts):
            raise LabelError(f"{place.row(row)}: one of several labels is missing or a list; give names or numbers")
        found = frozenset(plain_label(part, place, row) for part in parts)
        if len(found) < len(parts) and set(parts) <= {0, 1}:
            raise LabelError(
                f"{place.row(row)}: the labels are zeros and ones; a matrix of them is given as an array, np.array(y)"
            )
        labels.append(found)
    if len(labels) > 1 and set(labels) == {frozenset({0, 1})}:
        raise LabelError(f"{place.name}: all labels are 0 and 1; a matrix of them is given as an array, np.array(y)")
    return labels


def _score(value: Any, place: Place, row: int, levels: Sequence[str]) -> float:
    if isinstance(value, SEVERAL):
        raise LabelError(f"{place.row(row)}: a score is one number, and there is a list")
    if is_missing(value):
        raise LabelError(f"{place.row(row)}: the score is missing; fill it in or remove the row")
    if levels:
        name = str(plain_label(value, place, row)).strip()
        if name not in levels:
            raise LabelError(f"{place.row(row)}: '{name}' is not among the levels; {did_you_mean(name, levels)}")
        return float(levels.index(name))
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise LabelError(
            f"{place.row(row)}: {value!r:.40} is no number; a scale of names needs their order: --levels bad,fair,good"
        )
    return number
