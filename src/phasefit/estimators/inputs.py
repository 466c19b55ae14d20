"""Texts, pairs of texts and labels out of whatever Python holds them in: lists, arrays, columns of frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit.errors import DataError

MOST_SIDES = 3


def as_texts(texts: Any) -> list[str]:
    """One text per row, from whatever holds them."""
    if isinstance(texts, str):
        raise DataError("give a list of texts, not one string")
    if getattr(texts, "ndim", 1) == 2 and texts.shape[1] == 1:  # one column of a frame or an array
        texts = texts.iloc[:, 0] if hasattr(texts, "iloc") else texts[:, 0]
    if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) > 1:
        raise DataError("give the texts as one column, e.g. frame['text'], or as a list")
    listed = list(texts)
    for row, text in enumerate(listed, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"text {row} is a {type(text).__name__}, not a string; give a one-dimensional list of texts"
            )
    return listed


def as_labels(labels: Any) -> list[Any]:
    """NumPy's and pandas' scalars as Python's own."""
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def as_label_rows(labels: Any) -> tuple[list[Any], list[Any] | None]:
    """Labels, one per row; of an indicator matrix, the sets of its columns, and what these are called."""
    if getattr(labels, "ndim", 1) != 2:
        return as_labels(labels), None
    if hasattr(labels, "toarray"):  # a sparse matrix
        labels = labels.toarray()
    columns = [str(name) for name in labels.columns] if hasattr(labels, "columns") else list(range(labels.shape[1]))
    table = np.asarray(labels)
    if not np.isin(table, (0, 1)).all():
        raise DataError("a matrix of labels holds 1 where a text has the label of the column, and 0 where it has not")
    return [frozenset(columns[place] for place in np.flatnonzero(row)) for row in table], columns


def as_rows(rows: Any) -> list[Any]:
    """Texts, or tuples of two or three where rows are pairs or triples; a frame or array of so many columns too."""
    columns = rows.shape[1] if getattr(rows, "ndim", 1) == 2 else 1
    if 1 < columns <= MOST_SIDES:
        return [tuple(row) for row in (rows.to_numpy() if hasattr(rows, "to_numpy") else rows).tolist()]
    if isinstance(rows, str | Mapping) or columns > 1 or not any(isinstance(row, tuple | list) for row in rows):
        return as_texts(rows)
    return [tuple(row) if isinstance(row, tuple | list) else row for row in rows]
