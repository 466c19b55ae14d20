"""Kinds of labels: one file per kind, whose KIND knows all that differs between kinds.

How labels are recognised and read, their loss, what a head's outputs mean, how answers are chosen and scored, which
columns `predict` writes, and how to describe them. `contract` lists it; the registry is `data.labels.LABEL_KINDS`.

May import errors, seeds, events, files, registry, data, metrics and objectives; torch only inside methods, because
options and recipes are checked without it.
"""

from __future__ import annotations

from collections.abc import Mapping

from phasefit.data.labels import LABEL_KINDS, LabelSpace
from phasefit.data.labels.kinds import USUAL
from phasefit.errors import PluginError
from phasefit.kinds.contract import LabelKind

__all__ = ["LabelKind", "kind_named", "kind_of", "kind_of_metrics"]


def kind_named(name: str) -> LabelKind:
    """The kind of that name; a LabelError with the nearest name where there is none."""
    kind = LABEL_KINDS[name]
    if not isinstance(kind, LabelKind) or not name == kind.name == kind.space.kind:
        raise PluginError(
            f"what is registered as the kind of labels '{name}' must be a phasefit.kinds.LabelKind, and it and its "
            f"label space must have that name (found {kind!r})"
        )
    return kind


def kind_of_metrics(metrics: Mapping[str, object]) -> LabelKind:
    """The kind of the labels that these metrics of a split are of, as far as they tell; paths count as classes."""
    kinds, usual = map(kind_named, LABEL_KINDS), kind_named(USUAL)
    return next((kind for kind in kinds if kind.judged != usual.judged and kind.judged in metrics), usual)


def kind_of(space: LabelSpace) -> LabelKind:
    """The kind of a label space; that of texts without labels has none."""
    return kind_named(space.kind)
