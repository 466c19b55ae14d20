"""Scores of each class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ClassScores:
    """The scores of one class; `support` is its number of rows."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def class_scores(per_class: Mapping[str, Mapping[str, Any]]) -> list[ClassScores]:
    """Read `per_class` of `metrics.json`, in its order."""
    keys = ("precision", "recall", "f1", "support")
    return [ClassScores(name, *(scores[key] for key in keys)) for name, scores in per_class.items()]


def weakest(classes: Iterable[ClassScores]) -> list[ClassScores]:
    """Sort classes by F1, the lowest first; among equals, the class with the fewest rows first."""
    return sorted(classes, key=lambda one: (one.f1, one.support))
