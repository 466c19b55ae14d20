"""All rows of a run as one training table, for refitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.stored_texts import join_texts
from phasefit.data.table import Table
from phasefit.prepare.prepare import Prepared
from phasefit.prepare.splitting import labels_of


def merged(prepared: Prepared) -> Prepared:
    """Train, validation and test rows as one training table, with nothing left to score."""
    if prepared.tasks:
        tasks = {name: merged(task) for name, task in prepared.tasks.items()}
        return replace(prepared, validation=None, tasks=tasks)
    tables = [table for table in (prepared.train, prepared.validation, prepared.test) if table is not None]
    if prepared.train.labels is not None:  # --unseen keep leaves unknown labels in
        tables = [table.take(_known(table, prepared.space)) for table in tables]
    whole = Table(
        prepared.train.name,
        join_texts([table.texts for table in tables]),
        None if prepared.train.labels is None else [label for table in tables for label in labels_of(table)],
        others=_joined([table.others for table in tables]),
        levels=prepared.train.levels,
        kind=prepared.train.kind,
        weights=_weights(tables),
    )
    return replace(prepared, train=whole, validation=None, test=None)


def _known(table: Table, space: LabelSpace) -> np.ndarray:
    return np.flatnonzero([space.knows(label) for label in labels_of(table)])


def _weights(tables: Sequence[Table]) -> np.ndarray | None:
    """The weights of all rows; those of a table without weights are 1."""
    if all(table.weights is None for table in tables):
        return None
    return np.concatenate([np.ones(len(table)) if table.weights is None else table.weights for table in tables])


def _joined(parts: Sequence[tuple[Sequence[str], ...]]) -> tuple[Sequence[str], ...]:
    """The other texts of pairs and triples; negatives are dropped if only some tables have them."""
    return tuple(join_texts(sides) for sides in zip(*parts, strict=False))
