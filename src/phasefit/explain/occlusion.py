"""Occlusion: the weight of a word is how far the output falls when the word is left out. Works with any model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from phasefit.explain.reading import ReadRow
from phasefit.explain.rows import AT_ONCE, outputs_of, variant
from phasefit.explain.targets import Task
from phasefit.models.predictor import Progress

MOST_PARTS = 128  # variants of one text: with more words, neighbours are left out together and share their weight


def occlude(
    task: Task, rows: Sequence[ReadRow], *, batch_size: int = 64, progress: Progress | None = None
) -> list[np.ndarray]:
    """For each row the weights (words, outputs) of its words; NaN for words that the model does not read."""
    weights: list[np.ndarray] = []
    for chunk in _chunks(rows):
        parts = [parts_of(row) for row in chunk]
        variants = [
            one
            for row, own in zip(chunk, parts, strict=True)
            for one in (variant(row), *(variant(row, part.tolist()) for part in own))
        ]
        values = task.values(outputs_of(task.model, task.name, variants, batch_size))
        start = 0
        for row, own in zip(chunk, parts, strict=True):
            whole, others = values[start], values[start + 1 : start + 1 + len(own)]
            start += 1 + len(own)
            of_row = np.full((len(row.words), values.shape[1]), np.nan)
            for part, other in zip(own, others, strict=True):
                of_row[part] = (whole - other) / len(part)
            weights.append(of_row)
        if progress is not None:
            progress(len(chunk))
    return weights


def parts_of(row: ReadRow) -> list[np.ndarray]:
    """The words that are left out together: single ones, or neighbours if there are too many."""
    read = np.flatnonzero(row.read)
    return [part for part in np.array_split(read, min(len(read), MOST_PARTS)) if len(part)] if len(read) else []


def _chunks(rows: Sequence[ReadRow]) -> Iterator[list[ReadRow]]:
    """Rows whose variants are predicted together."""
    chunk: list[ReadRow] = []
    variants = 0
    for row in rows:
        chunk.append(row)
        variants += 1 + min(int(row.read.sum()), MOST_PARTS)
        if variants >= AT_ONCE:
            yield chunk
            chunk, variants = [], 0
    if chunk:
        yield chunk
