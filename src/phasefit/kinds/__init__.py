"""Label kinds: one file per kind, whose KIND holds everything that differs between kinds.

That is how labels are recognised and read, their loss, the meaning of a head's outputs, how predictions are chosen and
scored, the columns that `predict` writes, and descriptions. See `contract` for the full list; the registry is
`data.labels.LABEL_KINDS`.

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
    """The kind with this name; raises a LabelError that suggests the nearest name."""
    kind = LABEL_KINDS[name]
    if not isinstance(kind, LabelKind) or not name == kind.name == kind.space.kind:
        raise PluginError(
            f"the label kind registered as '{name}' must be a phasefit.kinds.LabelKind, and its `name` and the `kind` "
            f"of its label space must be '{name}' (found {kind!r})"
        )
    return kind


def kind_of_metrics(metrics: Mapping[str, object]) -> LabelKind:
    """The label kind that the metrics of a split belong to; trees cannot be distinguished from single labels."""
    kinds, usual = map(kind_named, LABEL_KINDS), kind_named(USUAL)
    return next((kind for kind in kinds if kind.judged != usual.judged and kind.judged in metrics), usual)


def kind_of(space: LabelSpace) -> LabelKind:
    """The kind of a label space; fails for the space of unlabelled texts, which has none."""
    return kind_named(space.kind)
