"""Encode and decode raw labels. `kinds` has the registry of label kinds; `label_space` builds their spaces.

May import errors, registry and the rest of `data`. Never imports `phasefit.kinds`: kinds are looked up by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phasefit.data.labels.classes import NoLabels, SingleLabels, TreeLabels
from phasefit.data.labels.kinds import LABEL_KINDS, USUAL, LabelFormat
from phasefit.data.labels.multi import MultiLabels
from phasefit.data.labels.score import ScoreLabels
from phasefit.data.labels.space import LabelSpace
from phasefit.data.table import Label
from phasefit.errors import LabelError

__all__ = [
    "LABEL_KINDS",
    "LabelFormat",
    "LabelSpace",
    "MultiLabels",
    "NoLabels",
    "ScoreLabels",
    "SingleLabels",
    "TreeLabels",
    "kind_by_type",
    "label_space",
    "spaces_from_json",
]


def spaces_from_json(content: Any) -> dict[str, LabelSpace]:
    """The label spaces in `labels.json`, by task; LabelError if they are damaged."""
    if not isinstance(content, dict) or not all(isinstance(space, dict) for space in content.values()):
        raise LabelError("expected a table with one label space per task; the file is damaged")
    return {str(task): LabelSpace.from_json(space) for task, space in content.items()}


def label_space(
    labels: Sequence[Label], kind: str | None = None, where: str = "", levels: Sequence[str] = ()
) -> LabelSpace:
    """The label space of these labels; the default `kind` follows from their types.

    `where` names the table in messages; `levels` are the names of scores 0, 1, 2 ...
    """
    known = LABEL_KINDS[kind_by_type(labels) if kind is None else kind]
    try:
        return known.build(labels, levels)
    except LabelError as error:
        raise LabelError(f"{where}: {error}" if where else str(error)) from None


def kind_by_type(labels: Sequence[Label]) -> str:
    """The kind that matches the types of the labels: tuples are paths, frozensets sets, floats scores."""
    types = {type(label) for label in labels}
    for name in LABEL_KINDS:
        made_of = LABEL_KINDS[name].made_of
        if made_of is not None and any(issubclass(own, made_of) for own in types):
            return name
    return USUAL
