"""Predictions as columns of a table: what `predict` and `evaluate` write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from phasefit.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from phasefit.data.labels import LabelSpace
    from phasefit.models.heads.decision import Decision


def column_names(space: LabelSpace, prefix: str = "", probabilities: bool = True) -> list[str]:
    """The columns that predicting adds, in order."""
    if space.kind == "score":
        names = ["prediction", "score"] if len(space) else ["prediction"]
    else:
        names = ["prediction", "probability"]
        names += [f"probability_{name}" for name in space.names] if probabilities else []
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


def free_prefix(columns: Iterable[object], spaces: Iterable[LabelSpace], start: str = "") -> str:
    """A prefix under which no new column clashes: the one to start with, or with underscores before it."""
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
    """The frame with its predictions to the right; rows and columns of the input stay as they were.

    A prediction that is withheld is left empty, as is that of a text without any label; probabilities are told all the
    same.
    """
    import pandas as pd

    names = column_names(space, prefix, probabilities=every_class)
    first, second = _of_scores(outputs, space) if space.kind == "score" else _of_classes(outputs, space, decision)
    labels: object = first
    if any(label is None for label in first):  # beside an empty cell pandas would make floats of integers
        labels = pd.Series(first, index=frame.index, dtype=object)
    added: dict[str, object] = dict(zip(names, (labels, second), strict=False))
    added.update({name: outputs[:, code] for code, name in enumerate(names[2:])})
    return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)


def _of_scores(outputs: np.ndarray, space: LabelSpace) -> tuple[list[object], np.ndarray]:
    from phasefit.models.heads.decision import Decision
    from phasefit.models.heads.outputs import answers_of

    return list(answers_of(outputs, space, Decision())), outputs[:, 0]


def _of_classes(outputs: np.ndarray, space: LabelSpace, decision: Decision) -> tuple[list[object], np.ndarray]:
    """The label, and how probable it is; of several, how probable the least probable one is."""
    import numpy as np

    if space.kind != "multi":
        return labels_of(space, decision.answers(outputs)), outputs.max(axis=1)
    chosen = decision.chosen(outputs)
    written: list[object] = [
        written_set([space.names[code] for code in np.flatnonzero(row)], space.names) for row in chosen
    ]
    weakest = np.where(chosen, outputs, np.inf).min(axis=1)
    return written, np.where(np.isinf(weakest), np.nan, weakest)


def written_set(names: Sequence[str], known: Iterable[str]) -> str | None:
    """Several labels in one cell, joined with a bar; as a JSON list where a class has a bar in its name."""
    from phasefit.data.labels.multi import SEPARATOR

    if not names:
        return None
    if any(SEPARATOR in name for name in known):
        return json.dumps(list(names), ensure_ascii=False)
    return SEPARATOR.join(names)


def labels_of(space: LabelSpace, codes: np.ndarray) -> list[object]:
    """Labels for one column: as they were given where they share one plain type, else as they are written.

    A code below 0 is no answer: None.
    """
    plain = len({type(label) for label in space.classes}) == 1 and not isinstance(space.classes[0], tuple)
    written: Sequence[object] = space.classes if plain else space.names
    return [None if code < 0 else written[code] for code in codes.tolist()]
