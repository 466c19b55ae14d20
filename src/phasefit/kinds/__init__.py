"""Kinds of labels: one file per kind, whose KIND knows all that differs between kinds.

How labels are recognised and read, their loss, what a head's outputs mean, how answers are chosen and scored, which
columns `predict` writes, and what is said of them. `contract` lists it; the registry is `data.labels.LABEL_KINDS`.

May import `data`, `metrics` and `objectives`; torch only inside methods, because options and recipes are checked
without it.
"""

from __future__ import annotations

from typing import cast

from phasefit.data.labels import LABEL_KINDS, LabelSpace
from phasefit.kinds.contract import LabelKind

__all__ = ["LabelKind", "kind_named", "kind_of"]


def kind_named(name: str) -> LabelKind:
    """The kind of that name; a LabelError with the nearest name where there is none."""
    return cast(LabelKind, LABEL_KINDS[name])


def kind_of(space: LabelSpace) -> LabelKind:
    """The kind of a label space; that of texts without labels has none."""
    return kind_named(space.kind)
