"""Labels: raw labels to codes and back. One class per kind, listed in LABEL_KINDS; `label_space` picks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phasefit.data.labels.classes import NoLabels, SingleLabels, TreeLabels
from phasefit.data.labels.multi import MultiLabels
from phasefit.data.labels.score import ScoreLabels
from phasefit.data.labels.space import LabelSpace, plain
from phasefit.data.table import Label
from phasefit.errors import LabelError, did_you_mean

__all__ = [
    "LABEL_KINDS",
    "LabelSpace",
    "MultiLabels",
    "NoLabels",
    "ScoreLabels",
    "SingleLabels",
    "TreeLabels",
    "kind_of",
    "known_kind",
    "label_space",
]

LABEL_KINDS: dict[str, type[LabelSpace]] = {
    "single": SingleLabels,
    "multi": MultiLabels,
    "tree": TreeLabels,
    "score": ScoreLabels,
}


def label_space(
    labels: Sequence[Label], kind: str | None = None, where: str = "", levels: Sequence[str] = ()
) -> LabelSpace:
    """The label space of these labels; without `kind`, by their type.

    `where` names the table in messages; `levels` are the names of scores 0, 1, 2 ...
    """
    place = f"{where}: " if where else ""
    kind = known_kind(kind_of(labels) if kind is None else kind)
    if kind == "score":
        return _scale(labels, place, levels)
    kinds = {type(part) for label in labels if type(label) is not str for part in _parts(plain(label))}
    if {bool, int} <= kinds:  # True equals 1, so one of them would be lost
        raise LabelError(f"{place}labels mix true/false with numbers; give them one type")
    try:
        space = LABEL_KINDS[kind].build(labels)
    except LabelError as error:
        raise LabelError(f"{place}{error}") from None
    if kind == "multi" and not len(space):
        raise LabelError(f"{place}no row has a label; at least one row needs one")
    if kind != "multi" and len(space) < 2:
        found = f"is only one class, '{space.names[0]}'" if len(space) else "are no labels"
        raise LabelError(f"{place}there {found}; a classifier needs at least two classes")
    return space


def kind_of(labels: Sequence[Label]) -> str:
    """The kind that the types of the labels speak for: tuples are paths, frozensets sets, floats scores."""
    for kind, made_of in (("tree", tuple), ("multi", frozenset), ("score", float)):
        if any(isinstance(label, made_of) for label in labels):
            return kind
    return "single"


def known_kind(kind: str) -> str:
    """The kind, if there is such a one."""
    if kind not in LABEL_KINDS:
        raise LabelError(f"unknown kind of labels '{kind}'; {did_you_mean(kind, LABEL_KINDS)}")
    return kind


def _scale(labels: Sequence[Label], place: str, levels: Sequence[str]) -> LabelSpace:
    try:
        space = ScoreLabels.of(labels, levels)
    except LabelError as error:
        raise LabelError(f"{place}{error}") from None
    if len(set(labels)) < 2:
        raise LabelError(f"{place}all scores are the same; there is nothing to learn")
    return space


def _parts(label: Any) -> tuple[Any, ...]:
    return tuple(label) if isinstance(label, tuple | frozenset) else (label,)
