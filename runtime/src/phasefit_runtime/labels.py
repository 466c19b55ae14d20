"""Labels of a task: from the outputs of the model to answers, with the decision rule of the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from phasefit_runtime.errors import InputError

Class: TypeAlias = str | int | tuple[str | int, ...]
Label: TypeAlias = str | int | float | tuple[str | int, ...] | frozenset[str | int]
"""A class, a path of a tree, a set of classes, a score, or the name of a level."""
Kind: TypeAlias = Literal["single", "multi", "tree", "score"]
KINDS = ("single", "multi", "tree", "score")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Labels:
    """The classes of a task in the order of the model's outputs, and the rule that chooses among them.

    Scores have no classes; with `levels`, the answer is the name of the level closest to the score.
    """

    kind: Kind
    classes: tuple[Class, ...] = ()
    levels: tuple[str, ...] = ()
    reject_below: float = 0.0
    thresholds: tuple[float, ...] = ()

    @property
    def outputs(self) -> int:
        """The number of outputs for each text or pair."""
        return 1 if self.kind == "score" else len(self.classes)

    @property
    def names(self) -> list[str]:
        """The classes or levels as texts, as in the columns that `phasefit predict` writes."""
        return ["/".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in self.classes or self.levels]

    def answers(self, outputs: np.ndarray, reject_below: float | None = None) -> list[Label | None]:
        """The label of each row; None if it is withheld because its probability is below `reject_below`."""
        if reject_below is not None:
            self._check_reject(reject_below)
        if self.kind == "score":
            scores: list[float] = outputs[:, 0].tolist()
            return [self._level(score) for score in scores] if self.levels else list(scores)
        if self.kind == "multi":
            chosen = outputs >= (np.asarray(self.thresholds) if self.thresholds else 0.5)
            return [frozenset(self.classes[code] for code in np.flatnonzero(row)) for row in chosen]  # type: ignore[misc]
        if not len(outputs):
            return []
        least = self.reject_below if reject_below is None else reject_below
        answered = (outputs.max(axis=1) >= least).tolist()
        codes = outputs.argmax(axis=1).tolist()
        return [self.classes[code] if keep else None for code, keep in zip(codes, answered, strict=True)]

    def _level(self, score: float) -> str:
        return self.levels[int(np.clip(np.floor(score + 0.5), 0, len(self.levels) - 1))]

    def _check_reject(self, reject_below: float) -> None:
        if self.kind not in ("single", "tree"):
            raise InputError(
                f"reject_below needs a model with one class per text; this task has labels of kind '{self.kind}'"
            )
        if not 0 <= reject_below <= 1:
            raise InputError(f"reject_below must be between 0 and 1, not {reject_below}")


def read_labels(task: str, kind: Any, space: Any, decision: Any) -> Labels:
    """The labels of a task in a manifest; ValueError if they are damaged."""
    where = f"task '{task}'"
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{where} has labels of the unknown kind '{kind!s:.100}'")
    if not isinstance(space, dict) or space.get("kind") != kind:
        raise ValueError(f"{where} has no labels of kind '{kind}'")
    rule = {} if decision is None else decision
    if not isinstance(rule, dict):
        raise ValueError(f"{where} has no valid decision rule")
    reject, thresholds = rule.get("reject_below", 0.0), rule.get("thresholds", [])
    if not isinstance(thresholds, list) or not all(_is_share(number) for number in (reject, *thresholds)):
        raise ValueError(f"{where} has thresholds that are not between 0 and 1")
    known: Any = kind
    if kind == "score":
        levels = space.get("levels", [])
        if not isinstance(levels, list) or not all(isinstance(level, str) and _is_name(level) for level in levels):
            raise ValueError(f"{where} has levels that are not names")
        return Labels(known, levels=tuple(levels))
    classes = _classes(where, space.get("classes"), paths=kind == "tree")
    if thresholds and len(thresholds) != len(classes):
        raise ValueError(f"{where} has {len(thresholds)} thresholds for {len(classes)} classes")
    return Labels(known, classes, (), float(reject), tuple(map(float, thresholds)))


def _classes(where: str, classes: Any, *, paths: bool) -> tuple[Class, ...]:
    if not isinstance(classes, list) or not classes:
        raise ValueError(f"{where} has no classes")
    parts: list[Sequence[Any]] = [one if paths and isinstance(one, list) else [one] for one in classes]
    if not all(path and all(_is_name(part) for part in path) for path in parts):
        raise ValueError(f"{where} has a class that is not a name or a number")
    plain: list[Class] = [tuple(one) if isinstance(one, list) else one for one in classes]
    if len(set(plain)) < len(plain):
        raise ValueError(f"{where} has the same class twice")
    return tuple(plain)


def _is_name(part: Any) -> bool:
    """Whether this is a number, or a text that can be written: one without incomplete characters."""
    return isinstance(part, int) or (isinstance(part, str) and not LONE_SURROGATE.search(part))


def _is_share(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and 0 <= number <= 1  # false for NaN
