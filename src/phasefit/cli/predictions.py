"""Predictions as columns of a table, for `predict` and `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from phasefit.errors import DataError
from phasefit.kinds import kind_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from phasefit.data.labels import LabelSpace
    from phasefit.kinds.decision import Decision


def column_names(space: LabelSpace, prefix: str = "", probabilities: bool = True) -> list[str]:
    """The columns of predictions, in order."""
    return [prefix + name for name in kind_of(space).columns(space, probabilities)]


def refuse_clashes(columns: Iterable[object], added: Iterable[str]) -> None:
    """Raise a DataError if the input already has one of the new columns."""
    taken = set(map(str, columns))
    clash = [name for name in added if name in taken]
    if clash:
        raise DataError(
            f"the input already has the column '{clash[0]}'; rename the new columns with --prefix, e.g. --prefix new_"
        )


def free_prefix(columns: Iterable[object], spaces: Iterable[LabelSpace], start: str = "") -> str:
    """A prefix with which no new column clashes: `start`, or `start` after underscores."""
    taken, prefix, known = set(map(str, columns)), start, list(spaces)
    while any(taken.intersection(column_names(space, prefix)) for space in known):
        prefix = "_" + prefix
    return prefix


def add_predictions(
    frame: pd.DataFrame,
    outputs: np.ndarray,
    space: LabelSpace,
    decision: Decision,
    prefix: str = "",
    every_class: bool = True,
) -> pd.DataFrame:
    """The frame with columns of predictions on the right.

    A rejected prediction is empty, as is that of a text without labels; their probabilities are filled in.
    """
    import pandas as pd

    names = column_names(space, prefix, probabilities=every_class)
    added: dict[str, Any] = dict(zip(names, kind_of(space).cells(outputs, space, decision), strict=False))
    labels = added[names[0]]
    if any(label is None for label in labels):  # pandas would convert integers to floats
        added[names[0]] = pd.Series(labels, index=frame.index, dtype=object)
    return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)
