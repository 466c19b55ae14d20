"""Predictions for batches of columns, as Ray Data and similar pipelines hand them to a class. Imports no Ray."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit_runtime.errors import InputError
from phasefit_runtime.model import load


class BatchPredictor:
    """Loads an exported folder once and adds predictions to batches.

    >>> dataset.map_batches(  # doctest: +SKIP
    ...     BatchPredictor, fn_constructor_args=("exports/reviews-onnx",), batch_format="numpy", concurrency=2
    ... )

    Parameters
    ----------
    folder
        The exported folder; it must exist on every machine.
    text
        The column of texts.
    task
        The name of the task; not needed if there is only one.
    threads
        The number of CPU threads of one worker.
    prefix
        A prefix for the names of new columns.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        text: str = "text",
        task: str | None = None,
        threads: int = 1,
        prefix: str = "",
    ) -> None:
        self._model = load(folder, threads)
        self._task = self._model.task(task)
        if self._task.pair is not None:
            raise InputError("this model compares pairs of texts; a batch has one column of texts")
        self._name, self._text, self._prefix = task, text, prefix

    def __call__(self, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The batch with the column `prediction` and, for one class per text, `probability`.

        A prediction is a string, empty if it is withheld; several labels are joined with |, a path with /. Scores are
        numbers.
        """
        if self._text not in batch:
            raise InputError(f"there is no column '{self._text}'; known: {', '.join(map(str, batch))}")
        labels = self._task.labels
        outputs = self._model.predict_outputs([_text(value) for value in batch[self._text]], self._name)
        answers = labels.answers(outputs, None)
        added: dict[str, np.ndarray] = {}
        if labels.kind == "score" and not labels.levels:
            added["prediction"] = outputs[:, 0]
        else:
            added["prediction"] = np.array([_cell(answer, labels.classes) for answer in answers], dtype=object)
        if labels.kind in ("single", "tree"):
            added["probability"] = outputs.max(axis=1)
        named = {f"{self._prefix}{name}": column for name, column in added.items()}
        clash = next((name for name in named if name in batch), None)
        if clash is not None:
            raise InputError(f"the batch already has the column '{clash}'; use prefix")
        return {**batch, **named}


def _text(value: Any) -> Any:
    """Strings of NumPy as strings of Python."""
    return str(value) if isinstance(value, np.str_) else value


def _cell(answer: Any, classes: tuple[Any, ...]) -> str:
    if answer is None:
        return ""
    if isinstance(answer, frozenset):
        return "|".join(str(one) for one in classes if one in answer)
    return "/".join(map(str, answer)) if isinstance(answer, tuple) else str(answer)
