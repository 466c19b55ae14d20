"""Convert lists, arrays and columns of data frames to texts, pairs of texts and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit.errors import DataError

MOST_SIDES = 3


def as_texts(texts: Any) -> list[str]:
    """Return a list of texts; raise a DataError for anything that is not a string."""
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got one string; pass [text] for a single text")
    if getattr(texts, "ndim", 1) == 2 and texts.shape[1] == 1:  # one column of a frame or an array
        texts = texts.iloc[:, 0] if hasattr(texts, "iloc") else texts[:, 0]
    if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) > 1:
        raise DataError("texts must be a list or one column, e.g. frame['text']")
    listed = list(texts)
    for row, text in enumerate(listed, start=1):
        if isinstance(text, str):
            continue
        if missing := _missing(text):
            raise DataError(f"text {row} is missing ({missing}); drop or fill it")
        raise DataError(f"text {row} is not a string ({type(text).__name__}); pass a one-dimensional list of strings")
    return listed


def _missing(text: Any) -> str:
    """Return how a missing text is written (pandas uses NaN, None and NA), or an empty string for other values."""
    if text is None:
        return "None"
    if type(text).__name__ == "NAType":
        return "NA"
    return "NaN" if isinstance(text, float | np.floating) and np.isnan(text) else ""


def as_labels(labels: Any) -> list[Any]:
    """Return a list of labels with NumPy scalars converted to Python scalars."""
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def as_label_rows(labels: Any) -> tuple[list[Any], list[Any] | None]:
    """Return one label per row and None; for an indicator matrix, one set of labels per row and its column names."""
    if getattr(labels, "ndim", 1) != 2:
        return as_labels(labels), None
    if hasattr(labels, "toarray"):  # a sparse matrix
        labels = labels.toarray()
    columns = [str(name) for name in labels.columns] if hasattr(labels, "columns") else list(range(labels.shape[1]))
    table = np.asarray(labels)
    if not np.isin(table, (0, 1)).all():
        raise DataError("a label matrix must contain only 0 and 1 (1: the text has the label of that column)")
    return [frozenset(columns[column] for column in np.flatnonzero(row)) for row in table], columns


def as_weights(weights: Any, rows: int) -> np.ndarray | None:
    """Return one weight per row; None if all are equal, because they then have no effect."""
    if weights is None:
        return None
    try:
        listed = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight must be a list of numbers, one per row") from None
    if listed.shape != (rows,):
        shape = f"{len(listed):,}" if listed.ndim == 1 else f"an array of shape {listed.shape}"
        raise DataError(f"sample_weight must have one number per row: {rows:,} rows, but {shape}")
    wrong = np.flatnonzero(~np.isfinite(listed) | (listed < 0))
    if len(wrong):
        raise DataError(
            f"sample_weight of row {wrong[0] + 1} is {listed[wrong[0]]:g}; weights must be finite and at least 0"
        )
    if not listed.any():
        raise DataError("every sample_weight is 0; give some rows a weight above 0")
    return None if (listed == listed[0]).all() else listed


def as_rows(rows: Any) -> list[Any]:
    """Return texts, or tuples for pairs and triples, which may also be a frame or array with two or three columns."""
    columns = rows.shape[1] if getattr(rows, "ndim", 1) == 2 else 1
    if 1 < columns <= MOST_SIDES:
        return [tuple(row) for row in (rows.to_numpy() if hasattr(rows, "to_numpy") else rows).tolist()]
    if isinstance(rows, str | Mapping) or columns > 1 or not any(isinstance(row, tuple | list) for row in rows):
        return as_texts(rows)
    return [tuple(row) if isinstance(row, tuple | list) else row for row in rows]
