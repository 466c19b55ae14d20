"""Predictions as columns of a table: what `predict` and `evaluate` write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from phasefit.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from phasefit.data.labels import LabelSpace
    from phasefit.models.decision import Decision


def column_names(space: LabelSpace, prefix: str = "", probabilities: bool = True) -> list[str]:
    """The columns that predicting adds, in order."""
    names = ["prediction", "probability"]
    if probabilities:
        names += [f"probability_{name}" for name in space.names]
    return [prefix + name for name in names]


def refuse_clashes(columns: Iterable[object], added: Iterable[str]) -> None:
    """A DataError if the input already has one of the columns that would be added."""
    taken = set(map(str, columns))
    clash = [name for name in added if name in taken]
    if clash:
        raise DataError(
            f"the input already has the column '{clash[0]}'; choose another name for the new columns with --prefix, "
            "such as --prefix new_"
        )


def free_prefix(columns: Iterable[object], space: LabelSpace) -> str:
    """A prefix under which no new column clashes: none, or as many underscores as it takes."""
    taken, prefix = set(map(str, columns)), ""
    while taken.intersection(column_names(space, prefix)):
        prefix += "_"
    return prefix


def add_predictions(
    frame: pd.DataFrame,
    probabilities: np.ndarray,
    space: LabelSpace,
    decision: Decision,
    prefix: str = "",
    every_class: bool = True,
) -> pd.DataFrame:
    """The frame with its predictions to the right; rows and columns of the input stay as they were.

    A prediction that is withheld is left empty; its probabilities are told all the same.
    """
    import pandas as pd

    names = column_names(space, prefix, probabilities=every_class)
    codes = decision.answers(probabilities)
    labels: object = labels_of(space, codes)
    if (codes < 0).any():  # beside an empty cell pandas would make floats of integers
        labels = pd.Series(labels, index=frame.index, dtype=object)
    added: dict[str, object] = {
        names[0]: labels,
        names[1]: probabilities.max(axis=1),
    }
    added.update({name: probabilities[:, code] for code, name in enumerate(names[2:])})
    return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)


def labels_of(space: LabelSpace, codes: np.ndarray) -> list[object]:
    """Labels for one column: as they were given where they share one plain type, else as they are written.

    A code below 0 is no answer: None.
    """
    plain = len({type(label) for label in space.classes}) == 1 and not isinstance(space.classes[0], tuple)
    written: Sequence[object] = space.classes if plain else space.names
    return [None if code < 0 else written[code] for code in codes.tolist()]
