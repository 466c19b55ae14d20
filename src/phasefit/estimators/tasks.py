"""A loaded run with several tasks: one encoder, and a classifier or regressor for each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phasefit.errors import ModelError, did_you_mean
from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.regressor import TextRegressor
from phasefit.parameter_names import python_errors


class TextTasks:
    """Several tasks over one encoder, as `phasefit.load` returns them.

    Parameters
    ----------
    tasks
        A fitted `TextClassifier` or `TextRegressor` for each task name. Use their other methods directly, for example
        `tasks["sst"].predict_proba(texts)`.
    """

    def __init__(self, tasks: Mapping[str, TextClassifier | TextRegressor]) -> None:
        self.tasks = dict(tasks)

    @python_errors
    def predict(self, X: Sequence[Any], *, task: str | None = None) -> np.ndarray | dict[str, np.ndarray]:
        """Return the predictions of one task or, without `task`, a dictionary with those of every task."""
        if task is None:
            return {name: estimator.predict(X) for name, estimator in self.tasks.items()}
        if task not in self.tasks:
            raise ModelError(f"this model has no task '{task}'; {did_you_mean(task, self.tasks)}")
        return self.tasks[task].predict(X)

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Return the embeddings (n, d) of the encoder, which all tasks share."""
        return next(iter(self.tasks.values())).transform(X)
