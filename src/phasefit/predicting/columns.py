"""Predictions and embeddings as columns of a table, for `predict`, `embed` and `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from phasefit.errors import DataError
from phasefit.kinds import kind_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from phasefit.data.labels import LabelSpace
    from phasefit.kinds.decision import Decision
    from phasefit.models.predictor import Predictor

Probabilities: TypeAlias = Literal["all", "none"] | int
"""Which probabilities `predict` writes: of all classes, of none, or of the N most probable classes of each row."""
DIGITS = 6  # significant digits of probabilities
VECTORS = "embedding"  # the column of embeddings
EXACT = 1e-15  # from here on the powers of ten below are exact, and so are the written digits


def parse_probabilities(text: str) -> Probabilities:
    """`all`, `none`, or the N of `top:N`."""
    if text in ("all", "none"):
        return text  # type: ignore[return-value]
    head, colon, number = text.partition(":")
    if head == "top" and colon and number.isascii() and number.isdecimal() and int(number[:9]) > 0:
        return int(number[:9])
    raise DataError(f"--probabilities {text:.40} is unknown; use all, none, or top:N for the N most probable classes")


def check_probabilities(space: LabelSpace, probabilities: Probabilities) -> None:
    """Raise a DataError if the most probable classes are requested of a model without classes."""
    kind = kind_of(space)
    if isinstance(probabilities, int) and not kind.has_classes:
        raise DataError(
            f"--probabilities top:{probabilities} needs a model with classes; this model has labels of kind "
            f"'{kind.name}'"
        )


def column_names(space: LabelSpace, prefix: str = "", probabilities: Probabilities = "all") -> list[str]:
    """The columns of predictions, in order."""
    names = kind_of(space).columns(space, probabilities == "all")
    if isinstance(probabilities, int):
        ranks = range(1, min(probabilities, len(space)) + 1)
        names = [*names, *(f"{name}_{rank}" for rank in ranks for name in ("class", "probability"))]
    return [prefix + name for name in names]


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
    probabilities: Probabilities = "all",
    blank: np.ndarray | None = None,
) -> pd.DataFrame:
    """The frame with columns of predictions on the right; probabilities have six significant digits.

    A rejected prediction is empty, as is that of a text without labels; their probabilities are filled in. In `blank`
    rows, which have no text and no outputs, all new columns are empty.
    """
    import pandas as pd

    check_probabilities(space, probabilities)
    kind, names = kind_of(space), column_names(space, prefix, probabilities)
    labels, *numbers = kind.cells(outputs, space, decision)
    columns: list[Any] = [labels, *numbers]
    if kind.has_classes:
        columns = [labels, *map(significant, numbers)]
        if isinstance(probabilities, int):
            columns = [*columns[:2], *_most_probable(outputs, space, min(probabilities, len(space)))]
    index = frame.index if blank is None else frame.index[~blank]
    added: dict[str, Any] = dict(zip(names, columns, strict=False))
    if blank is not None or any(label is None for label in labels):  # pandas would convert integers to floats
        added[names[0]] = pd.Series(list(labels), index=index, dtype=object)
    predicted = pd.DataFrame(added, index=index).reindex(frame.index)
    return pd.concat([frame, predicted], axis=1)


def decision_of(model: Predictor, reject_below: float | None, task: str | None = None) -> Decision:
    """The decision rule of the model, with `reject_below` as its threshold if given."""
    name = model.known_task(task)
    own, kind = model.decision(name), kind_of(model.space_of(name))
    if reject_below is not None and kind.no_reject:
        raise DataError(
            f"--reject-below needs a model with one class per text; this model has labels of kind '{kind.name}'"
        )
    return own if reject_below is None else replace(own, reject_below=reject_below)


def refuse_vectors(columns: Iterable[object]) -> None:
    """Raise a DataError, before any work, if the input already has the column of embeddings."""
    if VECTORS in set(map(str, columns)):
        raise DataError(f"the input already has the column '{VECTORS}'; rename it or write to a .npy file")


def add_vectors(frame: pd.DataFrame, vectors: np.ndarray, format: str) -> pd.DataFrame:
    """The frame with a column of vectors: lists, or JSON for CSV and TSV."""
    import json

    import pandas as pd

    rows: list[object] = vectors.tolist()
    if format in ("csv", "tsv"):
        rows = [json.dumps(row) for row in rows]
    return pd.concat([frame, pd.Series(rows, index=frame.index, name=VECTORS)], axis=1)


def significant(values: Any) -> np.ndarray:
    """The numbers, rounded to the digits that are written."""
    import numpy as np

    numbers = np.array(values, dtype=np.float64)
    tiny = np.abs(numbers) < EXACT
    powers = (
        DIGITS - 1 - np.floor(np.log10(np.abs(numbers), where=~tiny & (numbers == numbers), out=np.zeros_like(numbers)))
    )
    rounded = np.round(numbers * 10.0**powers) / 10.0**powers
    rounded[tiny] = [float(f"{number:.{DIGITS - 1}e}") for number in numbers[tiny].tolist()]
    return rounded


def _most_probable(outputs: np.ndarray, space: LabelSpace, count: int) -> list[Any]:
    """The names of the most probable classes of each row and their probabilities, in turns."""
    import numpy as np

    order = np.argsort(-outputs, axis=1, kind="stable")[:, :count]
    best = np.take_along_axis(outputs, order, axis=1)
    return [
        column
        for rank in range(count)
        for column in ([space.names[code] for code in order[:, rank]], significant(best[:, rank]))
    ]
