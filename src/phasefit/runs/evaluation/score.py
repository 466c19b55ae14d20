"""Evaluating a model on a labelled table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.table import Table
from phasefit.kinds import kind_named, kind_of
from phasefit.kinds.decision import Decision
from phasefit.metrics.jackknife import replicates
from phasefit.models.predictor import TASK, Predictor
from phasefit.prepare.splitting import labels_of


def score(model: Predictor, table: Table, outputs: np.ndarray, task: str = TASK) -> dict[str, Any]:
    """All metrics of a table, given the model's outputs; a row with an unknown label counts as a mistake.

    Call `splitting.known_only` first to refuse or drop such rows.
    """
    return score_outputs(model.space_of(task), model.decision(task), table, outputs)


def score_outputs(space: LabelSpace, decision: Decision, table: Table, outputs: np.ndarray) -> dict[str, Any]:
    """The same for outputs of any origin: (n, classes) probabilities, or (n, 1) scores."""
    space = space.extend(labels_of(table))
    values = space.values(labels_of(table), where=table.name)
    return kind_of(space).evaluate(space, decision, values, outputs)


def row_replicates(space: LabelSpace, decision: Decision, table: Table, outputs: np.ndarray) -> dict[str, list[float]]:
    """The metrics of a table without each group of its rows, by name."""
    return replicates(lambda rows: score_outputs(space, decision, table.take(rows), outputs[rows]), len(table))


def mean_of_tasks(
    tasks: Mapping[str, Mapping[str, Any]], kinds: Mapping[str, str], watches: Mapping[str, str] | None = None
) -> float:
    """The mean of each task's main metric: the one it watches, or the default of its kind (accuracy, micro F1 for
    several labels, Pearson's r for scores)."""
    watched = {name: kind_named(kinds[name]).judged for name in tasks}
    watched |= {name: watch for name, watch in (watches or {}).items() if name in tasks and watch != "auto"}
    return float(np.mean([float(metrics.get(watched[name]) or 0.0) for name, metrics in tasks.items()]))
